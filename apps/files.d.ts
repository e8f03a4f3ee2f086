// What the build puts inside a view beside its code.
declare module "*.css";
