/** Multipart form bodies, valid and otherwise. */
import type { Chance } from "../Chance.ts"
import type { Fields } from "./forms.ts"
import { endOfSafety, strangeText } from "./texts.ts"

export interface Part {
  /** The lines of the part's head, unchanged. */
  readonly head: ReadonlyArray<string>
  readonly content: Buffer
}

export interface Multipart {
  readonly contentType: string
  readonly body: Buffer
}

const boundary = "fuzz-boundary-7d1c"

/** The smallest PNG picture. */
export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII=",
  "base64",
)

const fieldPart = (name: string, value: string): Part => ({
  head: [`Content-Disposition: form-data; name="${name.replaceAll(/["\r\n]/g, "_")}"`],
  content: Buffer.from(value),
})

export const filePart = (name: string, fileName: string, content: Buffer, type: string): Part => ({
  head: [
    `Content-Disposition: form-data; name="${name}"; filename="${fileName}"`,
    `Content-Type: ${type}`,
  ],
  content,
})

/** A file that uploads accept. */
export const someFile = (chance: Chance, name = "file"): Part => {
  const [fileName, content, type] = chance.pick([
    ["a.png", png, "image/png"],
    ["a.txt", Buffer.from("text"), "text/plain"],
    ["a.svg", Buffer.from("<svg/>"), "image/svg+xml"],
    ["a.bin", Buffer.alloc(5000, 7), "application/octet-stream"],
    ["ä ö.pdf", Buffer.from("%PDF-1.4"), "application/pdf"],
  ] as const)
  return filePart(name, fileName, content, type)
}

export const getParts = (fields: Fields): ReadonlyArray<Part> =>
  fields.map(([name, value]) => fieldPart(name, value))

const assemble = (
  parts: ReadonlyArray<Part>,
  mark = boundary,
  end = "\r\n",
  last = `--${mark}--`,
): Buffer =>
  Buffer.concat([
    ...parts.flatMap(({ content, head }) => [
      Buffer.from(`--${mark}${end}${head.join(end)}${end}${end}`),
      content,
      Buffer.from(end),
    ]),
    Buffer.from(`${last}${end}`),
  ])

export const multipart = (parts: ReadonlyArray<Part>): Multipart => ({
  contentType: `multipart/form-data; boundary=${boundary}`,
  body: assemble(parts),
})

const strangeHeads: ReadonlyArray<ReadonlyArray<string>> = [
  [],
  ["Content-Disposition: form-data"],
  ['Content-Disposition: form-data; name=""'],
  ['Content-Disposition: form-data; name=""; filename=""', "Content-Type: text/plain"],
  ['Content-Disposition: form-data; name="file"; filename=""', "Content-Type: text/plain"],
  ['Content-Disposition: form-data; name="file"', "Content-Type: application/octet-stream"],
  ['Content-Disposition: form-data; name="file"; filename="../../a.png"'],
  ['Content-Disposition: form-data; name="file"; filename="a\u0000.png"'],
  ['Content-Disposition: form-data; name="file"; filename="a\\".png"'],
  ["Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%e2%82%ac.png"],
  ["Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%ff%zz"],
  [`Content-Disposition: form-data; name="file"; filename="${"n".repeat(300)}.png"`],
  ['Content-Disposition: form-data; name="__proto__"'],
  [
    'Content-Disposition: form-data; name="constructor"; filename="a.png"',
    "Content-Type: image/png",
  ],
  ["Content-Disposition: form-data; name=file; filename=a.png"],
  ['Content-Disposition: attachment; name="file"; filename="a.png"'],
  ['content-disposition: FORM-DATA; NAME="file"; FILENAME="a.png"'],
  ['Content-Disposition: form-data; name="file"; name="other"; filename="a.png"'],
  ['Content-Disposition: form-data; name="file', "Content-Type: text/plain"],
  ["Content-Type: text/plain"],
  [": empty", 'Content-Disposition: form-data; name="file"'],
  ["no colon"],
  ['Content-Disposition: form-data; name="file"; filename="a.png"', "Content-Type: /"],
  [
    'Content-Disposition: form-data; name="file"; filename="a.png"',
    "Content-Type: image/png; charset=utf-16",
  ],
  [
    'Content-Disposition: form-data; name="file"; filename="a.png"',
    "Content-Type: multipart/mixed; boundary=x",
  ],
  [
    'Content-Disposition: form-data; name="file"; filename="a.png"',
    "Content-Transfer-Encoding: base64",
  ],
  [
    'Content-Disposition: form-data; name="file"; filename="a.png"',
    `X-Long: ${"h".repeat(20_000)}`,
  ],
  [
    'Content-Disposition: form-data; name="file"; filename="a.png"',
    ...Array.from({ length: 200 }, (_, n) => `X-${n}: 1`),
  ],
  ['Content-Disposition: form-data; name="\u00e9\ud83d\ude00"'],
]

const strangeBoundaries = [
  "multipart/form-data",
  "multipart/form-data;",
  "multipart/form-data; boundary",
  "multipart/form-data; boundary=",
  'multipart/form-data; boundary=""',
  'multipart/form-data; boundary=" "',
  'multipart/form-data; boundary="',
  `multipart/form-data; boundary="${boundary}"`,
  `multipart/form-data; boundary=${boundary}; boundary=other`,
  `multipart/form-data; charset=utf-16; boundary=${boundary}`,
  "multipart/form-data; boundary=other",
  "multipart/form-data; boundary=-",
  `multipart/form-data; boundary=${"b".repeat(71)}`,
  `multipart/form-data; boundary=${"b".repeat(4000)}`,
  `MULTIPART/FORM-DATA; BOUNDARY=${boundary}`,
  `multipart/mixed; boundary=${boundary}`,
  `multipart/form-data boundary=${boundary}`,
  `multipart/form-data; boundary*=UTF-8''${boundary}`,
  `multipart/form-data; boundary=${boundary}\u00e9`,
]

const shapes = [
  "head",
  "head",
  "head",
  "boundary",
  "boundary",
  "value",
  "no end",
  "cut",
  "line feeds",
  "preamble",
  "epilogue",
  "no parts",
  "double",
  "many",
  "drop",
  "long mark",
] as const

/** The form with one thing wrong, or just unusual. */
export const strangeMultipart = (
  parts: ReadonlyArray<Part>,
  chance: Chance,
): readonly [about: string, Multipart] => {
  const what = chance.pick(shapes)
  const at = chance.below(parts.length)
  const head = chance.pick(strangeHeads)
  const text = strangeText(chance)
  const create = (body: Buffer, contentType = multipart([]).contentType) =>
    [what, { contentType, body }] as const
  const content = parts[at]?.content ?? png
  switch (what) {
    case "head":
      return create(assemble([...parts.slice(0, at), { head, content }, ...parts.slice(at + 1)]))
    case "value":
      return create(
        assemble([...parts, fieldPart(chance.pick(["file", "msg", "x", "__proto__"]), text)]),
      )
    case "boundary":
      return create(assemble(parts), chance.pick(strangeBoundaries))
    case "no end":
      return create(assemble(parts, boundary, "\r\n", ""))
    case "cut": {
      const whole = assemble(parts)
      const end = endOfSafety(whole.toString("latin1"))
      return create(whole.subarray(0, Math.min(end, chance.below(whole.length - 1))))
    }
    case "line feeds":
      return create(assemble(parts, boundary, "\n"))
    case "preamble":
      return create(
        Buffer.concat([Buffer.from(`${"preamble ".repeat(1000)}\r\n`), assemble(parts)]),
      )
    case "epilogue":
      return create(Buffer.concat([assemble(parts), Buffer.from("epilogue\r\n".repeat(1000))]))
    case "no parts":
      return create(assemble([]))
    case "double":
      return create(assemble([...parts, ...parts]))
    case "many":
      return create(
        assemble([
          ...parts,
          ...Array.from({ length: chance.pick([9, 11, 99, 101, 3000]) }, (_, n) =>
            fieldPart(`f${n}`, "1"),
          ),
        ]),
      )
    case "drop":
      return create(assemble(parts.filter((_, other) => other !== at)))
    case "long mark":
      return create(
        assemble(parts, "m".repeat(69)),
        `multipart/form-data; boundary=${"m".repeat(69)}`,
      )
  }
}
