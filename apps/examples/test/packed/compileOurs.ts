/**
 * A compiler that reports errors of our declarations alone: `skipLibCheck` skips all or none, and
 * checking the others takes longer than everything else. Run in the folder of a `tsconfig.json`,
 * with the path of the compiler; prints like it.
 */
import { createRequire } from "node:module"

const [, , compiler = ""] = process.argv
const ts = createRequire(import.meta.url)(compiler) as typeof import("typescript-6")

const isOurs = (file: string): boolean => {
  const inPackages = file.split("/node_modules/")
  return (
    inPackages[0]?.startsWith(process.cwd()) === true &&
    (inPackages.length === 1 || inPackages.at(-1)?.startsWith("@messaging-service/") === true)
  )
}

const { config } = ts.readConfigFile("tsconfig.json", ts.sys.readFile.bind(ts.sys))
const { errors, fileNames, options } = ts.parseJsonConfigFileContent(config, ts.sys, process.cwd())
const program = ts.createProgram(fileNames, options)
const ours = program.getSourceFiles().filter(({ fileName }) => isOurs(fileName))
if (!ours.some(({ isDeclarationFile }) => isDeclarationFile))
  throw new Error("none of ours is read")
const found = [
  ...errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...program.getSyntacticDiagnostics(),
  ...ours.flatMap((file) => program.getSemanticDiagnostics(file)),
]
process.stdout.write(
  ts.formatDiagnostics(found, {
    getCanonicalFileName: (file) => file,
    getCurrentDirectory: () => process.cwd(),
    getNewLine: () => "\n",
  }),
)
