/** What everybody may read, in the document: links, health, metrics and the pages about the API. */
import { refusals } from "./errors.ts"
import type { Refused } from "./errors.ts"
import { clientRequestId, commonHeaders } from "./headers.ts"
import type {
  Answer,
  Content,
  DescribedSurface,
  Header,
  JsonObject,
  Operation,
} from "./Operation.ts"

const text = (description: string): JsonObject => ({
  schema: { type: "string" },
  description,
})

const bytes = (contentType: string): Content => ({
  [contentType]: { schema: { json: {} } },
})

const header = (name: string, description: string, schema: JsonObject = { type: "string" }) => ({
  name,
  description,
  schema,
})

const noSniff = header("X-Content-Type-Options", "Always `nosniff`.")

const fileHeaders: ReadonlyArray<Header> = [
  ...commonHeaders,
  noSniff,
  header("Content-Disposition", "`inline` for pictures, else `attachment`."),
  header("Content-Security-Policy", "Nothing in the file runs."),
  header("Accept-Ranges", "Always `bytes`."),
  header("ETag", "Of the content."),
]

const contentRange = header("Content-Range", "The part, and the whole length.")

const ofFile = (status: number, description: string, more: ReadonlyArray<Header>): Answer => ({
  status,
  description,
  headers: [...fileHeaders, ...more],
  content: bytes("*/*"),
})

const healthSchema = (status: string, description: string): JsonObject => ({
  type: "object",
  properties: { status: { type: "string", const: status } },
  required: ["status"],
  description,
})

const healthAnswer = (code: number, status: string, description: string): Answer => ({
  status: code,
  description,
  headers: commonHeaders,
  content: {
    "application/json": {
      schema: { json: healthSchema(status, description) },
      examples: { example: { status } },
    },
  },
})

/** Readiness has a 503 of its own. */
const unavailable = ({ answers }: Pick<Operation, "answers">): ReadonlyArray<Refused> =>
  answers.some(({ status }) => status === 503) ? [] : ["service_unavailable"]

const open = (
  path: string,
  said: Pick<Operation, "id" | "tag" | "summary" | "about" | "answers"> & {
    readonly headers?: ReadonlyArray<Header>
  },
  refused: ReadonlyArray<Refused> = [],
): Operation => ({
  method: "GET",
  path,
  id: said.id,
  tag: said.tag,
  summary: said.summary,
  about: said.about,
  security: [],
  parameters: {
    token: text("From a link that the service gave out."),
    name: text("The file's name, from the same link."),
  },
  query: null,
  headers: [...(said.headers ?? []), clientRequestId],
  body: null,
  answers: [...said.answers, ...refusals([...refused, "internal_error", ...unavailable(said)])],
})

const ofPage: ReadonlyArray<Header> = [
  noSniff,
  header("Content-Security-Policy", "The page loads nothing from elsewhere."),
]

const page = (
  description: string,
  contentType: string,
  more: ReadonlyArray<Header> = [],
): Answer => ({
  status: 200,
  description,
  headers: [...commonHeaders, ...more],
  content: { [contentType]: { schema: { json: { type: "string" } } } },
})

/** What links in answers lead to. */
const links: ReadonlyArray<Operation> = [
  open(
    "/media/{token}/{name}",
    {
      id: "readFile",
      tag: "Links",
      summary: "Read a stored file",
      about: "The `url` of a file works for 26 hours, for everybody who has it.",
      headers: [
        header("Range", "One range of bytes, such as `bytes=0-1023`."),
        header("If-Range", "The `ETag` of the content that the client has the rest of."),
      ],
      answers: [
        ofFile(200, "The whole file.", []),
        ofFile(206, "The part that `Range` asked for.", [contentRange]),
        { ...ofFile(416, "There is no such part.", [contentRange]), content: null },
      ],
    },
    ["not_found"],
  ),
  open(
    "/qr/{token}",
    {
      id: "readQrCode",
      tag: "Links",
      summary: "Read a QR code",
      about:
        "The `qr_code_url` of a connecting number, whose last segment ends in `.png`, works for 10 minutes. Each look shows the newest code.",
      answers: [
        {
          status: 200,
          description: "The picture.",
          headers: [...commonHeaders, noSniff],
          content: bytes("image/png"),
        },
      ],
    },
    ["not_found"],
  ),
]

const health: ReadonlyArray<Operation> = [
  open("/health/live", {
    id: "isLive",
    tag: "Service",
    summary: "Does the process run?",
    about: "",
    answers: [healthAnswer(200, "ok", "It runs.")],
  }),
  open("/health/ready", {
    id: "isReady",
    tag: "Service",
    summary: "Does the store answer?",
    about: "",
    answers: [
      healthAnswer(200, "ok", "It answers."),
      healthAnswer(503, "unavailable", "It does not answer."),
    ],
  }),
]

const metricsOperation: ReadonlyArray<Operation> = [
  open("/metrics", {
    id: "readMetrics",
    tag: "Service",
    summary: "Read the metrics",
    about: "What this process has counted, and how the whole service stands.",
    answers: [page("The text format of Prometheus.", "text/plain")],
  }),
]

const documents: ReadonlyArray<Operation> = [
  open("/openapi.json", {
    id: "readDocument",
    tag: "Service",
    summary: "Read this document",
    about: "",
    answers: [
      {
        status: 200,
        description: "OpenAPI 3.1.",
        headers: commonHeaders,
        content: {
          "application/json": {
            schema: { json: { type: "object", required: ["openapi", "info", "paths"] } },
          },
        },
      },
    ],
  }),
  open("/docs", {
    id: "readPage",
    tag: "Service",
    summary: "Read this document as a page",
    about: "",
    answers: [page("The page.", "text/html", ofPage)],
  }),
  open("/docs/errors", {
    id: "readErrors",
    tag: "Service",
    summary: "Read the error catalogue",
    about: "Every code with its status and meaning.",
    answers: [page("The page.", "text/html", ofPage)],
  }),
]

/** `customers`: whether links lead here; `metrics`: whether they are served here. */
export const documentOpen = ({
  customers,
  metrics,
}: {
  readonly customers: boolean
  readonly metrics: boolean
}): DescribedSurface => ({
  name: "Open to everybody",
  tags: [
    ...(customers ? [{ name: "Links", description: "What links in answers lead to." }] : []),
    { name: "Service", description: "Health, metrics and documentation." },
  ],
  security: {},
  operations: [
    ...(customers ? links : []),
    ...health,
    ...(metrics ? metricsOperation : []),
    ...documents,
  ],
})
