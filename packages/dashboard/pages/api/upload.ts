/** Uploads a file and reports its progress, which `fetch` cannot. */
import type { MediaFile } from "@messaging-service/client"
import { base } from "./base.ts"
import { Refused, readAnswer, toAddress } from "./call.ts"
import type { Input } from "./call.ts"
import type { Answer, OperationName } from "./operations.ts"
import { sessionHeaders } from "./sessionKind.ts"

interface UploadInput<N extends OperationName> extends Pick<Input<N>, "query" | "path"> {
  readonly file: File
  readonly idempotencyKey?: string
  /** From 0 to 1. */
  readonly progress?: ((share: number) => void) | undefined
}

export interface FileUpload {
  readonly workspaceId: number
  readonly file: File
  readonly mode: "live" | "test"
  /** The same for each try: the service then stores the file once. */
  readonly idempotencyKey: string
  readonly progress?: (share: number) => void
}

const refused = (request: XMLHttpRequest): Refused => {
  const { error = {} } = (request.response ?? {}) as {
    error?: { code?: string; message?: string; field?: string | null }
  }
  const headers = new Headers()
  for (const name of ["x-request-id", "retry-after"])
    headers.set(name, request.getResponseHeader(name) ?? "")
  return new Refused(new Response(null, { status: request.status, headers }), error)
}

/** Sends a file as the part `file` of a form. */
export const uploadTo = <N extends OperationName>(
  name: N,
  { file, idempotencyKey, path, progress, query = {} }: UploadInput<N>,
): Promise<Answer<N>> =>
  new Promise((resolve, reject) => {
    const form = new FormData()
    form.append("file", file, file.name)
    const request = new XMLHttpRequest()
    request.open("POST", toAddress(name, path ?? {}, query))
    request.responseType = "json"
    const headers = {
      ...sessionHeaders(),
      ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
    }
    for (const [header, value] of Object.entries(headers)) request.setRequestHeader(header, value)
    request.upload.addEventListener("progress", ({ loaded, total }) => progress?.(loaded / total))
    request.addEventListener("error", () => reject(new TypeError("no answer")))
    request.addEventListener("load", () => {
      if (request.status !== 201) return reject(refused(request))
      try {
        resolve(readAnswer(name, request.response))
      } catch (error) {
        reject(error)
      }
    })
    request.send(form)
  })

export const upload = ({ mode, workspaceId, ...options }: FileUpload): Promise<MediaFile> =>
  uploadTo("POST /admin/v1/workspaces/{id}/media", {
    ...options,
    path: { id: workspaceId },
    query: { mode },
  })

/** A stored file's link below this page's own origin: the service's may name another. */
export const ownLink = (url: string): string =>
  base + new URL(url).pathname.split("/").slice(-3).join("/")
