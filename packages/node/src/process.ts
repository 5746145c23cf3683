/** For the apps of this repository, which listen, log, and stop in good order. Private. */
export { getAddress, listen } from "./HttpListener.ts"
export type { HttpListener, ListenOptions } from "./HttpListener.ts"
export { announce, isTerminal, withLogging, logStop, terminalWriter } from "./Logging.ts"
export { runProcess, runProgram } from "./runProgram.ts"
export type { Program } from "./runProgram.ts"
