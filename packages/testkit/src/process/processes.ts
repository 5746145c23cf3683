/** Tests of the service as real processes. */
export { faultyDisk } from "./FaultyDisk.ts"
export type { DiskFault, FaultyDisk } from "./FaultyDisk.ts"
export { aCaller, anAttemptUnderWay, anOperator, call } from "./ServiceClient.ts"
export type { Answer, ObservedMessage } from "./ServiceClient.ts"
export {
  ProcessError,
  directoryOnDisk,
  storedSecrets,
  ofOneKey,
  secretsKey,
  start,
  startServer,
  tellsLateStop,
  temporaryDirectory,
  waitUntil,
  within,
} from "./ServiceProcess.ts"
export type { Ending, ServerProcess, ServiceProcess } from "./ServiceProcess.ts"
