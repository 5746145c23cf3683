/** The codes of refusals, with the status of each and what it says: a table, without the service. */
export { catalogue } from "./error/Catalogue.ts"
export type { Code } from "./error/Catalogue.ts"
