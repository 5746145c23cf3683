/** Runs before each file of the projects whose tests start programs (`vitest.config.ts`). */
import { inject } from "vitest"
import { awaitPrograms } from "./programs.ts"

await awaitPrograms(inject("programs"))
