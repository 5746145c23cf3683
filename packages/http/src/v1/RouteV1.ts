/** What the table of version 1 says about an operation, and what its handler is given. */
import type { Caller, Refusal, StoreUnavailable } from "@messaging-service/core"
import type { SpooledContent } from "@messaging-service/core/ports"
import type { Effect, Scope } from "effect"
import { Schema } from "effect"
import type { Route } from "../route/RouteTable.ts"
import type { ErrorPageV1, FailureV1, OtherTexts } from "./FailureV1.ts"
import { readFields } from "./FieldsV1.ts"
import type { BodyV1, ExampleV1, FieldsV1, ReadFieldsV1 } from "./FieldsV1.ts"

interface AboutV1<Fields extends FieldsV1, Answer extends Schema.Top> extends Route {
  readonly summary: string
  /**
   * `client`: `client_id` and `api_key` among the fields, the key also as a bearer token. `bearer`:
   * the bearer token alone.
   */
  readonly credentials: "client" | "bearer"
  /** Beside the credentials. */
  readonly fields: Fields
  /** Where it refuses with other texts than the rest. */
  readonly texts?: OtherTexts
  /** The body of success, which is always answered with 200. */
  readonly answer: Answer
}

/** Reads its fields of the query. */
interface GetV1<Fields extends FieldsV1, Answer extends Schema.Top> extends AboutV1<
  Fields,
  Answer
> {
  readonly method: "GET"
}

/** Reads its fields of the body. */
interface PostV1<Fields extends FieldsV1, Answer extends Schema.Top> extends AboutV1<
  Fields,
  Answer
> {
  readonly method: "POST"
  /**
   * A request for the document to show, which adds the credentials. Null where nothing is done without
   * a file, so that a multipart form is the only body of use.
   */
  readonly example: ExampleV1<NoInfer<Fields>> | null
}

type OperationV1<Fields extends FieldsV1, Answer extends Schema.Top> =
  | GetV1<Fields, Answer>
  | PostV1<Fields, Answer>

export interface InputV1 {
  readonly caller: Caller
  readonly body: BodyV1
  /** The file in one of the operation's file parts. It goes with the request, unless it is kept. */
  readonly file: UploadV1 | null
  /** The segment of the path under that name. */
  readonly parameter: (name: string) => string
}

export interface UploadV1 {
  /** Null when the client gave none that is one. */
  readonly fileName: string | null
  readonly content: SpooledContent
}

type OutcomeV1<Body> = Effect.Effect<
  Body,
  FailureV1 | ErrorPageV1 | Refusal | StoreUnavailable,
  Scope.Scope
>

interface HandledV1 {
  /** Answers with the body of success. */
  readonly handler: (input: InputV1) => OutcomeV1<unknown>
}

export type PostRouteV1 = PostV1<FieldsV1, Schema.Top> & HandledV1

export type RouteV1 = PostRouteV1 | (GetV1<FieldsV1, Schema.Top> & HandledV1)

/** Binds the handler to the fields that it takes and to what it answers. */
export const operationV1 = <Fields extends FieldsV1, Answer extends Schema.Top>(
  operation: OperationV1<Fields, Answer> & {
    readonly handler: (
      input: InputV1 & { readonly fields: ReadFieldsV1<Fields> },
    ) => OutcomeV1<Answer["Type"]>
  },
): RouteV1 => ({
  ...operation,
  handler: (input) =>
    operation.handler({ ...input, fields: readFields(operation.fields, input.body) }),
})

/** The names of the parts in which an operation takes a file. */
export const filePartsOf = ({ fields }: Pick<RouteV1, "fields">): ReadonlyArray<string> =>
  Object.entries(fields).flatMap(([name, { type }]) => (type === "file" ? name : []))

export const DoneAnswer = Schema.Struct({ status: Schema.Literal(1), message: Schema.String })

export const done = (message: string): typeof DoneAnswer.Type => ({ status: 1, message })
