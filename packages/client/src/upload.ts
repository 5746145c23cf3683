/** A file as the body of a request, from any source. */

/** Source of a file's bytes. A stream passes through, and never sits in memory whole. */
export type FileContent =
  | Blob
  | Uint8Array
  | ArrayBuffer
  | string
  | ReadableStream<Uint8Array>
  | AsyncIterable<Uint8Array>

/** A file to upload. */
export interface Upload {
  /**
   * The bytes, or a function that returns them. The client calls it for each attempt, so an upload
   * from a stream can retry. It sends a plain stream once, without retries. Browsers send streams only
   * over HTTP/2; use a `Blob` or a `File` there.
   */
  readonly file: FileContent | (() => FileContent | Promise<FileContent>)
  /** Name that recipients see. Default: the name of a `File`. */
  readonly file_name?: string
}

/** The file of a request. */
export interface FileToUpload {
  readonly upload: Upload
  /** Whether a second attempt is possible. */
  readonly again: boolean
}

export const toUpload = (upload: Upload): FileToUpload => ({
  upload,
  again: typeof upload.file === "function" || !isStream(upload.file),
})

const isStream = (
  content: FileContent,
): content is ReadableStream<Uint8Array> | AsyncIterable<Uint8Array> =>
  typeof content === "object" && ("getReader" in content || Symbol.asyncIterator in content)

interface Form {
  readonly headers: Readonly<Record<string, string>>
  /** `fetch` requires `duplex` for a stream body, but its types lack it. */
  readonly init: RequestInit & { readonly duplex?: "half" }
}

/** The file as a form with the one field `file`. */
export const getForm = async ({ upload }: FileToUpload): Promise<Form> => {
  const content = typeof upload.file === "function" ? await upload.file() : upload.file
  const own = content instanceof Blob && "name" in content ? String(content.name) : "file"
  const name = upload.file_name ?? own
  if (isStream(content)) return streamed(content, name)
  const form = new FormData()
  // The types of bytes include shared buffers, which no form accepts.
  form.append("file", content instanceof Blob ? content : new Blob([content as BlobPart]), name)
  return { headers: {}, init: { body: form } }
}

/** `FormData` takes no streams, so this writes the form out, with the bytes as they arrive. */
const streamed = (
  content: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
  name: string,
): Form => {
  const boundary = `form-${crypto.getRandomValues(new Uint32Array(4)).join("-")}`
  const escaped = name.replaceAll(/["\r\n]/g, encodeURIComponent)
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${escaped}"\r\nContent-Type: application/octet-stream\r\n\r\n`
  return {
    headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
    init: { body: toBody(getPieces(head, content, `\r\n--${boundary}--\r\n`)), duplex: "half" },
  }
}

async function* getPieces(
  head: string,
  content: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
  tail: string,
): AsyncGenerator<Uint8Array, void> {
  const utf8 = new TextEncoder()
  yield utf8.encode(head)
  yield* Symbol.asyncIterator in content ? content : readBlocks(content)
  yield utf8.encode(tail)
}

/** Some browsers' streams are not iterable yet. */
async function* readBlocks(content: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = content.getReader()
  try {
    for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
      if (value !== undefined) yield value
    }
  } finally {
    await reader.cancel()
  }
}

const toBody = (pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await pieces.return()
    },
  })
