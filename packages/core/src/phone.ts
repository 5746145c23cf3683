/** Phones alone, for programs that read them and do not run the service: loads nothing else. */
export { parsePhone, phoneDigits } from "./recipient/Phone.ts"
export type { Phone } from "./recipient/Phone.ts"
