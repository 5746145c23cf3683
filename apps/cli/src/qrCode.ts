/** QR codes in a terminal's characters: two rows of modules per line of text. */
import type { PNG } from "pngjs"

/** Light modules around the code, without which few phones read it. */
const margin = 2

type Modules = ReadonlyArray<ReadonlyArray<boolean>>

/**
 * Modules of a picture that contains only the code. The outermost dark pixels bound it. The corner's
 * finder pattern gives the module size: its upper edge is seven modules long.
 */
const getModules = ({ data, height, width }: Pick<PNG, "data" | "height" | "width">): Modules => {
  const isDark = (x: number, y: number) => (data[(y * width + x) * 4] ?? 255) < 128
  let left = width
  let top = height
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      if (isDark(x, y) && (y < top || (y === top && x < left))) [left, top] = [x, y]
    }
  }
  let edge = left
  while (edge < width && isDark(edge, top)) edge++
  const module = (edge - left) / 7
  const count = Math.round((width - 2 * left) / module)
  const at = (of: number, from: number) => Math.floor(from + (of + 0.5) * module)
  return Array.from({ length: count }, (_, row) =>
    Array.from({ length: count }, (__, column) => isDark(at(column, left), at(row, top))),
  )
}

/** Draws the light modules. It omits the dark ones, which are then dark on a dark background. */
const blocks = {
  "light light": "█",
  "light dark": "▀",
  "dark light": "▄",
  "dark dark": " ",
} as const

/** The modules as text, light on dark. */
const drawn = (modules: Modules): string => {
  const isDark = (row: number, column: number) => modules[row]?.[column] === true
  const size = modules.length
  const lines: Array<string> = []
  for (let row = -margin; row < size + margin; row += 2) {
    let line = ""
    for (let column = -margin; column < size + margin; column++) {
      const shade = (at: number) => (isDark(at, column) ? "dark" : "light")
      line += blocks[`${shade(row)} ${shade(row + 1)}`]
    }
    lines.push(`${line}\n`)
  }
  return lines.join("")
}

// Only users who link a number load the code that reads and makes QR codes.

/** The code in that picture, as text. */
export const qrCodeText = async (png: Uint8Array): Promise<string> => {
  const { PNG } = await import("pngjs")
  return drawn(getModules(PNG.sync.read(Buffer.from(png))))
}

/** The code for that link, as text. */
export const drawQrCode = async (link: string): Promise<string> => {
  const { create } = await import("qrcode")
  const { modules } = create(link, {})
  const indices = Array.from({ length: modules.size }, (_, index) => index)
  return drawn(indices.map((row) => indices.map((column) => modules.get(row, column) === 1)))
}
