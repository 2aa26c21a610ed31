// Bundles the page's program and its style sheet into the directory of the Go package, or into the
// directory that the argument names. Equal sources give equal bytes.
import { build } from "esbuild";

const to = process.argv[2] ?? "..";

await build({
  entryPoints: { bundle: "src/main.tsx" },
  outdir: to,
  bundle: true,
  minify: true,
  charset: "utf8",
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  // The files that the page is made of, not the place where they are, decide the result.
  absWorkingDir: import.meta.dirname,
  logLevel: "warning",
});
