/** A PNG that moves (APNG), made of pictures of one size: browsers show it where they show a PNG. */
import { crc32 } from "node:zlib"

export interface Frame {
  readonly png: Buffer
  /** How long it is shown. */
  readonly millis: number
}

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

interface Chunk {
  readonly type: string
  readonly data: Buffer
}

const readChunks = (png: Buffer): ReadonlyArray<Chunk> => {
  const chunks: Array<Chunk> = []
  let position = signature.length
  while (position < png.length) {
    const length = png.readUInt32BE(position)
    const type = png.toString("latin1", position + 4, position + 8)
    chunks.push({ type, data: png.subarray(position + 8, position + 8 + length) })
    position += length + 12
  }
  return chunks
}

const toBytes = ({ data, type }: Chunk): Buffer => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const named = Buffer.concat([Buffer.from(type, "latin1"), data])
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

const toNumbers = (...numbers: ReadonlyArray<number>): Buffer => {
  const bytes = Buffer.alloc(4 * numbers.length)
  for (const [index, each] of numbers.entries()) bytes.writeUInt32BE(each, 4 * index)
  return bytes
}

const findData = (chunks: ReadonlyArray<Chunk>, type: string): Buffer =>
  Buffer.concat(chunks.filter((chunk) => chunk.type === type).map(({ data }) => data))

/** Shows the frames one after another, again and again. */
export const toMovingPicture = (frames: ReadonlyArray<Frame>): Buffer => {
  const read = frames.map(({ png }) => readChunks(png))
  const heads = read.map((chunks) => findData(chunks, "IHDR"))
  const [head = Buffer.alloc(0)] = heads
  if (heads.some((each) => !each.equals(head))) throw new Error("frames differ in size or colours")
  let sequence = 0
  const animated = read.flatMap((chunks, index): ReadonlyArray<Chunk> => {
    const delay = Buffer.alloc(6)
    delay.writeUInt16BE(frames[index]?.millis ?? 0)
    delay.writeUInt16BE(1000, 2)
    const control = Buffer.concat([
      toNumbers(sequence++, head.readUInt32BE(0), head.readUInt32BE(4), 0, 0),
      delay,
    ])
    const pixels = findData(chunks, "IDAT")
    return [
      { type: "fcTL", data: control },
      index === 0
        ? { type: "IDAT", data: pixels }
        : { type: "fdAT", data: Buffer.concat([toNumbers(sequence++), pixels]) },
    ]
  })
  return Buffer.concat([
    signature,
    ...[
      { type: "IHDR", data: head },
      { type: "acTL", data: toNumbers(frames.length, 0) },
      ...animated,
      { type: "IEND", data: Buffer.alloc(0) },
    ].map(toBytes),
  ])
}
