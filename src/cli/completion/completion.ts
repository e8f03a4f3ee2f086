export async function completion(args: readonly string[]): Promise<number> {
  return args.length;
}
