/** Runs before each file of the projects with tests that start programs (`vitest.config.ts`). */
import { inject } from "vitest"
import { awaitPrograms } from "./programs.ts"

await awaitPrograms(inject("programs"))
