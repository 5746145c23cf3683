/** Tests of the service as real processes. */
export * from "./ServiceClient.ts"
export * from "./ServiceProcess.ts"
