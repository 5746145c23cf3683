/** The service's own description of its interface, and what is held against it. */
export * from "./Document.ts"
export * from "./checker.ts"
