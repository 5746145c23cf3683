/**
 * Methods made from paths of the OpenAPI document. The document's types give each method its arguments
 * and result, so a method is one line and cannot differ from the document. A path's ids come first, in
 * their order; then the body or query; then options.
 */
import type { paths } from "./openapi.ts"
import { makeListing } from "./pages.ts"
import type { Listing } from "./pages.ts"
import type { Requester, RequestSpec, CreationOptions, RequestOptions } from "./request.ts"
import { toUpload } from "./upload.ts"
import type { Upload } from "./upload.ts"

type Verb = "get" | "post" | "put" | "patch" | "delete"

/** The parts of an operation's type that a method needs. */
interface Described {
  readonly parameters: { readonly query?: unknown; readonly header?: unknown }
  readonly requestBody?: unknown
  readonly responses: unknown
}

type Operation<Path extends keyof paths, V extends Verb> = paths[Path][V] extends Described
  ? paths[Path][V]
  : never

/** The JSON content of a request or a response; never without one. */
type JsonOf<Part> = Part extends { readonly content: { readonly "application/json": infer J } }
  ? J
  : never

type BodyOf<O> = O extends { readonly requestBody?: infer B } ? JsonOf<NonNullable<B>> : never

type QueryOf<O> = O extends { readonly parameters: { readonly query?: infer Q } }
  ? NonNullable<Q>
  : never

type AnswerOf<O> = O extends { readonly responses: infer R } ? JsonOf<R[keyof R]> : never

/** A complete list comes as the list, without its envelope; one with more than that as it is. */
type Given<A> = A extends { readonly data: infer Items }
  ? A extends { readonly next_cursor: unknown }
    ? never
    : keyof A extends "data"
      ? Items
      : A
  : A

type ItemOf<A> = A extends {
  readonly data: ReadonlyArray<infer Item>
  readonly next_cursor: unknown
}
  ? Item
  : never

type HeadersOf<O> = O extends { readonly parameters: { readonly header?: infer H } }
  ? NonNullable<H>
  : never

/** Paths with that verb and an operation of that kind. */
type Having<V extends Verb, Kind extends string> = {
  [Path in keyof paths]: [Operation<Path, V>] extends [never]
    ? never
    : KindOf<Operation<Path, V>> extends Kind
      ? Path
      : never
}[keyof paths]

/** The kind of method for an operation. The types include no header but the idempotency key. */
type KindOf<O> = [ItemOf<AnswerOf<O>>] extends [never]
  ? [HeadersOf<O>] extends [never]
    ? [BodyOf<O>] extends [never]
      ? "plain"
      : "with a body"
    : [BodyOf<O>] extends [never]
      ? O extends { readonly requestBody: unknown }
        ? "upload"
        : "create without a body"
      : "create"
  : "pages"

/** The ids of a path. The workspace's id comes first. */
type IdsOf<Path> = Path extends `/admin/v1/simulator/workspaces/{id}/receivers/{name}${string}`
  ? [workspaceId: number, name: string]
  : Path extends `/admin/v1/workspaces/{id}/${string}{${string}}${string}{${string}}${string}`
    ? [workspaceId: number, id: number, partId: number]
    : Path extends `/admin/v1/workspaces/{id}/${string}{${string}}${string}`
      ? [workspaceId: number, id: number]
      : Path extends `/admin/v1/workspaces/{id}/${string}`
        ? [workspaceId: number]
        : Path extends `${string}{${string}}${string}`
          ? [id: number]
          : []

/** Options of a method: those of an operation of version 2 in a workspace also name the mode. */
type OptionsOf<O, Options extends RequestOptions = RequestOptions> = Options &
  ("mode" extends keyof QueryOf<O>
    ? {
        /** Acts as a live or a test key. Default: `live`. */
        readonly mode?: "live" | "test"
      }
    : unknown)

/** The query of an operation that is not a list: its mode alone. */
const toQuery = (options: RequestOptions = {}) =>
  "mode" in options ? { query: { mode: options.mode as string | undefined } } : {}

type BodyArgument<O> = O extends { readonly requestBody: unknown }
  ? [body: BodyOf<O>]
  : [body?: BodyOf<O>]

/** Splits the arguments of a call. */
const read = (path: string, input: ReadonlyArray<unknown>) => {
  const count = path.split("{").length - 1
  return { ids: input.slice(0, count), rest: input.slice(count) }
}

/** Operations with an idempotency key. */
const makeCreations = (request: Requester) => ({
  /** POST with an idempotency key. */
  create:
    <Path extends Having<"post", "create">>(path: Path) =>
    async (
      ...args: [
        ...ids: IdsOf<Path>,
        body: BodyOf<Operation<Path, "post">>,
        options?: OptionsOf<Operation<Path, "post">, CreationOptions>,
      ]
    ): Promise<Given<AnswerOf<Operation<Path, "post">>>> => {
      const { ids, rest } = read(path, args)
      const [json, options] = rest as [unknown, CreationOptions?]
      const query = toQuery(options)
      return unwrapped(
        await request({ method: "POST", path, ids, json, keyed: true, ...query }, options),
      )
    },
  /** POST with an idempotency key, without a body. */
  createPlain:
    <Path extends Having<"post", "create without a body">>(path: Path) =>
    async (
      ...args: [...ids: IdsOf<Path>, options?: OptionsOf<Operation<Path, "post">, CreationOptions>]
    ): Promise<Given<AnswerOf<Operation<Path, "post">>>> => {
      const { ids, rest } = read(path, args)
      const [options] = rest as [CreationOptions?]
      const query = toQuery(options)
      return unwrapped(await request({ method: "POST", path, ids, keyed: true, ...query }, options))
    },
  /** POST of a file. */
  upload:
    <Path extends Having<"post", "upload">>(path: Path) =>
    async (
      ...args: [
        ...ids: IdsOf<Path>,
        upload: Upload,
        options?: OptionsOf<Operation<Path, "post">, CreationOptions>,
      ]
    ): Promise<Given<AnswerOf<Operation<Path, "post">>>> => {
      const { ids, rest } = read(path, args)
      const [upload, options] = rest as [Upload, CreationOptions?]
      const file = toUpload(upload)
      const query = toQuery(options)
      return unwrapped(
        await request({ method: "POST", path, ids, file, keyed: true, ...query }, options),
      )
    },
})

/** A body of JSON or a form with a file. */
type TakesFile<O> = O extends {
  readonly requestBody: { readonly content: { readonly "multipart/form-data": unknown } }
}
  ? true
  : false

/** Of the query's parameters, those besides the mode. */
type CampaignParameters<O> = Omit<QueryOf<O>, "mode">

/** POST of a file to an operation that takes JSON too, and GET of a file. */
const makeFiles = (request: Requester) => ({
  uploadTo:
    <Path extends Having<"post", "create">>(
      path: TakesFile<Operation<Path, "post">> extends true ? Path : never,
    ) =>
    async (
      ...args: [
        ...ids: IdsOf<Path>,
        upload: Upload,
        options?: OptionsOf<Operation<Path, "post">, CreationOptions> &
          CampaignParameters<Operation<Path, "post">>,
      ]
    ): Promise<Given<AnswerOf<Operation<Path, "post">>>> => {
      const { ids, rest } = read(path, args)
      const [upload, options = {}] = rest as [Upload, CreationOptions?]
      const {
        idempotencyKey: _key,
        retries: _most,
        signal: _end,
        timeoutMillis: _late,
        ...query
      } = options
      const file = toUpload(upload)
      return unwrapped(
        await request({ method: "POST", path, ids, file, keyed: true, query }, options),
      )
    },
  download:
    <Path extends Having<"get", "plain">>(path: Path) =>
    async (
      ...args: [
        ...ids: IdsOf<Path>,
        query?: QueryOf<Operation<Path, "get">>,
        options?: RequestOptions,
      ]
    ): Promise<ReadableStream<Uint8Array>> => {
      const { ids, rest } = read(path, args)
      const [query, options] = rest as [RequestSpec["query"], RequestOptions?]
      const spec = { method: "GET", path, ids, query, streams: "text/csv" } as const
      return (await request(spec, options)) as ReadableStream<Uint8Array>
    },
})

/** GET of one record, with a query. */
const withQuery =
  (request: Requester) =>
  <Path extends Having<"get", "plain">>(path: Path) =>
  async (
    ...args: [
      ...ids: IdsOf<Path>,
      query?: QueryOf<Operation<Path, "get">>,
      options?: RequestOptions,
    ]
  ): Promise<Given<AnswerOf<Operation<Path, "get">>>> => {
    const { ids, rest } = read(path, args)
    const [query, options] = rest as [RequestSpec["query"], RequestOptions?]
    return unwrapped(await request({ method: "GET", path, ids, query }, options))
  }

const makeMethods = (request: Requester) => {
  const plain =
    <V extends "get" | "post" | "delete">(verb: V) =>
    <Path extends Having<V, "plain">>(path: Path) =>
    async (
      ...args: [...ids: IdsOf<Path>, options?: OptionsOf<Operation<Path, V>>]
    ): Promise<Given<AnswerOf<Operation<Path, V>>>> => {
      const { ids, rest } = read(path, args)
      const [options] = rest as [RequestOptions?]
      const requested = { method: toMethod(verb), path, ids, ...toQuery(options) }
      return unwrapped(await request(requested, options))
    }

  const withBody =
    <V extends "post" | "put" | "patch">(verb: V) =>
    <Path extends Having<V, "with a body">>(path: Path) =>
    async (
      ...args: [
        ...ids: IdsOf<Path>,
        ...body: BodyArgument<Operation<Path, V>>,
        options?: OptionsOf<Operation<Path, V>>,
      ]
    ): Promise<Given<AnswerOf<Operation<Path, V>>>> => {
      const { ids, rest } = read(path, args)
      const [json, options] = rest as [unknown, RequestOptions?]
      const requested = { method: toMethod(verb), path, ids, json, ...toQuery(options) }
      return unwrapped(await request(requested, options))
    }

  return {
    /** GET of one record, or of a complete list. */
    get: plain("get"),
    /** GET of a list in pages. */
    list:
      <Path extends Having<"get", "pages">>(path: Path) =>
      (
        ...args: [
          ...ids: IdsOf<Path>,
          query?: QueryOf<Operation<Path, "get">>,
          options?: RequestOptions,
        ]
      ): Listing<ItemOf<AnswerOf<Operation<Path, "get">>>> => {
        const { ids, rest } = read(path, args)
        const [query, options] = rest as [RequestSpec["query"], RequestOptions?]
        return makeListing(request, { path, ids, query }, options)
      },
    ...makeCreations(request),
    /** POST without an idempotency key, with a body and without. */
    post: withBody("post"),
    order: plain("post"),
    put: withBody("put"),
    patch: withBody("patch"),
    remove: plain("delete"),
  }
}

const toMethod = (verb: Verb) => verb.toUpperCase() as Uppercase<Verb>

/** The service's response has the form that its document describes. */
const unwrapped = <A>(answer: unknown): A => {
  const isWholeList =
    typeof answer === "object" &&
    answer !== null &&
    "data" in answer &&
    Object.keys(answer).length === 1
  return (isWholeList ? answer.data : answer) as A
}

export const makeEndpoints = (request: Requester) => ({
  ...makeMethods(request),
  ...makeFiles(request),
  query: withQuery(request),
})

/** Result of `makeEndpoints`. */
export type Endpoints = ReturnType<typeof makeEndpoints>
