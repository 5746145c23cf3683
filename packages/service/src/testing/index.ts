/** The service for tests: `openTest`. Nothing here needs a test runner. */
export { openTest } from "./openTest.ts"
export type * from "./TestMessaging.ts"
