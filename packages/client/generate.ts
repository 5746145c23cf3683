/** Writes `src/openapi.ts`, the types of version 2 and of the operator API: `pnpm generate`. */
import { writeFileSync } from "node:fs"
import { resolve } from "node:path"
import { apiTypes } from "./apiTypes.ts"

/** Path of the types. */
export const typesFile = resolve(import.meta.dirname, "src/openapi.ts")

if (import.meta.main) writeFileSync(typesFile, await apiTypes())
