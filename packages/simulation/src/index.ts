export { simulate } from "./simulate.ts"
export type { Outcome, SimulateOptions } from "./simulate.ts"
