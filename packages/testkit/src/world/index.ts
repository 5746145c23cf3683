/** The world of a test: what exists before it acts, made through the services or over HTTP. */
export { aPhone, aPlan, day, hour, minute, noon, second } from "./builders.ts"
export * as http from "./http.ts"
export * as services from "./services.ts"
