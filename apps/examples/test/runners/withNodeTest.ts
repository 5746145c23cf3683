/** The service under node:test; run by `runners.slow.test.ts`. */
import { test } from "node:test"
import { leaveADay } from "./aDay.ts"

test("a day goes by", leaveADay)
