/** The time zone of all times: the viewer's, or UTC where they chose that. This browser keeps that choice. */
import { useSyncExternalStore } from "react"

const storageKey = "zone"
const utc = "UTC"

export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone || utc

let zone: string | undefined

export const getZone = (): string =>
  (zone ??= localStorage.getItem(storageKey) === utc ? utc : ownZone())

const listeners = new Set<() => void>()

const toOther = (from: string): string | null => {
  const own = ownZone()
  if (own === utc) return null
  return from === utc ? own : utc
}

export const changeZone = (): void => {
  zone = toOther(getZone()) ?? utc
  if (zone === utc) localStorage.setItem(storageKey, utc)
  else localStorage.removeItem(storageKey)
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useZone = (): string => useSyncExternalStore(subscribe, getZone)

/** The zone that `changeZone` leads to; null without another one. */
export const useOtherZone = (): string | null => toOther(useZone())

/** An instant as a field of date and time shows it; `inZone` is UTC or the browser's own. */
export const toFieldTime = (at: number, inZone = getZone()): string => {
  const offsetMinutes = inZone === utc ? 0 : new Date(at).getTimezoneOffset()
  return new Date(at - offsetMinutes * 60_000).toISOString().slice(0, 16)
}

/** What such a field says, as an instant; null where it is empty. */
export const parseFieldTime = (text: string, inZone = getZone()): string | null =>
  text === "" ? null : new Date(inZone === utc ? `${text}Z` : text).toISOString()
