/** The service's time: an adjustable clock moves it away from the browser's, countdowns follow it. */
import { useSyncExternalStore } from "react"

let ahead = 0

export const setServiceTime = (now: string): void => {
  ahead = Date.parse(now) - Date.now()
}

const listeners = new Set<() => void>()
let second = 0
setInterval(() => {
  second = Math.floor((Date.now() + ahead) / 1000)
  for (const listener of listeners) listener()
}, 1000)

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** In milliseconds, updated each second by one timer for the whole page. */
export const useServiceTime = (): number =>
  useSyncExternalStore(subscribe, () => (second ||= Math.floor((Date.now() + ahead) / 1000))) * 1000
