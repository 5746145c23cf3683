/** For programs that run as a process of their own: they listen, log, and stop in good order. */
export { addressOf, listen } from "./HttpListener.ts"
export type { HttpListener, ListenOptions } from "./HttpListener.ts"
export { announce, isTerminal, logged, saysStop, terminalWriter } from "./Logging.ts"
export { runProcess, runProgram } from "./runProgram.ts"
export type { Program } from "./runProgram.ts"
