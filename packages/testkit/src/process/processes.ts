/** Tests of the service as real processes. */
export { aCaller, anAttemptUnderWay, anOperator, call } from "./ServiceClient.ts"
export type { Answer, SeenMessage } from "./ServiceClient.ts"
export {
  ProcessError,
  directoryOnDisk,
  keptSecrets,
  ofOneKey,
  secretsKey,
  start,
  startServer,
  temporaryDirectory,
  waitUntil,
  within,
} from "./ServiceProcess.ts"
export type { Ending, ServerProcess, ServiceProcess } from "./ServiceProcess.ts"
