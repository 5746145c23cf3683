/** Which phones exist in the simulated world, for sending and for number checks alike. */
import type { Phone } from "../recipient/Phone.ts"

/**
 * Whether the phone is registered: one of those that were set, or, by the rule (`null`), every one
 * that does not end in `0000` (operator API: emulator controls).
 */
export const isRegistered = (set: ReadonlyArray<Phone> | null, phone: Phone): boolean =>
  set === null ? !phone.endsWith("0000") : set.includes(phone)
