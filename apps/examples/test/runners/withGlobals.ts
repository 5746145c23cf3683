/** The service under runners with a global `test`, Jest and Bun; run by `runners.slow.test.ts`. */
import { leaveADay } from "./aDay.ts"

declare const test: (title: string, run: () => Promise<void>) => void

test("a day goes by", leaveADay)
