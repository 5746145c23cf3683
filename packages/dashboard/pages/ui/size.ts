/** A size in the largest unit that says enough: 340 B, 2.4 KiB, 1 GiB. */
const units = ["B", "KiB", "MiB", "GiB", "TiB"] as const

export const formatSize = (bytes: number): string => {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10))
  const amount = bytes / 1024 ** power
  const digits = amount >= 10 || Number.isInteger(amount) ? 0 : 1
  return `${amount.toFixed(digits)} ${units[power] ?? ""}`
}
