// Declares the modules that the build embeds in a view in addition to its code.
declare module "*.css";
