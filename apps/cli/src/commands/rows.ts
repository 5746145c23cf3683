/**
 * Commands that show the answer of one call, each as a row. The client's types hold the name of the
 * call: its method must take what the row's kind of command gives it.
 */
import type { Listing, OperatorClient } from "@messaging-service/client"
import { command, id, many, once, targetOptions, workspace } from "../Command.ts"
import type { Command, Given, ParameterRecord } from "../Command.ts"
import type { Column } from "../Output.ts"
import type { WorkspaceClient } from "../WorkspaceClient.ts"
import { limit, listed } from "./lists.ts"

/** Names such as `webhooks.test` of a client's methods with these parameters and such an answer. */
type Call<Client, Accepts extends ReadonlyArray<unknown>, Answer> = {
  [Group in keyof Client & string]: {
    [Name in keyof Client[Group] & string]: Client[Group][Name] extends (...args: Accepts) => Answer
      ? `${Group}.${Name}`
      : never
  }[keyof Client[Group] & string]
}[keyof Client & string]

type AnswerOf<Client, Named> =
  Named extends `${infer Group extends keyof Client & string}.${infer Name}`
    ? Client[Group][Name & keyof Client[Group]] extends (...args: never) => infer Answer
      ? Answer
      : never
    : never

/** The columns of a record that a call answers, or of a list's records. */
type ColumnsOf<Client, Named> = ReadonlyArray<
  Column<
    AnswerOf<Client, Named> extends Listing<infer Item> ? Item : Awaited<AnswerOf<Client, Named>>
  >
>

type Columns = ReadonlyArray<Column<object>>

/** The types of `Call` hold that the client has that method. */
const request = <Answer>(client: object, call: string, ...args: ReadonlyArray<unknown>): Answer => {
  const [group = "", name = ""] = call.split(".")
  type Methods = Readonly<Record<string, (...given: ReadonlyArray<unknown>) => Answer>>
  return (client as Record<string, Methods>)[group]?.[name]?.(...args) as Answer
}

/** Shows what the key, or the operator in its workspace, gets for the record with that id, or for each. */
export const callerDetail = <const C extends Call<WorkspaceClient, [number], Promise<object>>>(
  name: string,
  record: string,
  call: C,
  summary: string,
  times: typeof once | typeof many = once,
): Command =>
  command({
    name,
    as: "key or operator",
    summary,
    arguments: { id: times(id(record)) },
    options: targetOptions,
    run: async (input, { caller, output }) => {
      for (const each of [input.id].flat()) output.one(await request<object>(caller(), call, each))
    },
  })

/** Shows what the operator gets for the record with that id in a workspace. */
export const operatorDetail = <
  const C extends Call<OperatorClient, [number, number], Promise<object>>,
>(
  name: string,
  record: string,
  call: C,
  summary: string,
  columns?: ColumnsOf<OperatorClient, C>,
): Command =>
  command({
    name,
    as: "operator",
    summary,
    arguments: { id: once(id(record)) },
    options: { workspace },
    run: async (input, { operator, output }) =>
      output.one(
        await request<object>(operator(), call, input.workspace, input.id),
        columns as Columns,
      ),
  })

/** Lists what the key, or the operator in its workspace, gets: what these options leave. */
export const callerLists = <
  const O extends ParameterRecord,
  const C extends Call<WorkspaceClient, [Fields<Given<O>>], Listing<object>>,
>(
  tokens: string,
  call: C,
  summary: string,
  columns: ColumnsOf<WorkspaceClient, C>,
  options: O,
): Command =>
  command({
    name: tokens,
    as: "key or operator",
    summary,
    options: { ...targetOptions, ...options, ...limit },
    run: (input, { caller, output }) => {
      const filter = Object.fromEntries(Object.keys(options).map((name) => [name, input[name]]))
      return listed(input, output, columns as Columns, (page) =>
        request(caller(), call, { ...page, ...toFields(filter) }),
      )
    },
  })

/** Lists what the operator gets in a workspace. */
export const operatorLists = <
  const C extends Call<OperatorClient, [number, { readonly limit: number }], Listing<object>>,
>(
  name: string,
  call: C,
  summary: string,
  columns: ColumnsOf<OperatorClient, C>,
): Command =>
  command({
    name,
    as: "operator",
    summary,
    options: { workspace, ...limit },
    run: ({ workspace: inside, ...args }, { operator, output }) =>
      listed(args, output, columns as Columns, (page) => request(operator(), call, inside, page)),
  })

type Underscored<Name extends string> = Name extends `${infer First}-${infer Rest}`
  ? `${First}_${Underscored<Rest>}`
  : Name

/** Whether a value may be one that was left out. */
type MayLack<Value> = undefined extends Value
  ? true
  : false extends Value
    ? true
    : Value extends ReadonlyArray<unknown>
      ? true
      : false

type Fields<T> = {
  readonly [
    Name in keyof T & string as MayLack<T[Name]> extends true ? Underscored<Name> : never
  ]?: Exclude<T[Name], undefined | false>
} & {
  readonly [
    Name in keyof T & string as MayLack<T[Name]> extends true ? never : Underscored<Name>
  ]: T[Name]
}

/**
 * Fields of a request from values by their options' names: `return-url` is `return_url` there. A value
 * that was left out has none, nor have an empty list and a flag that is not set.
 */
export const toFields = <T extends object>(input: T): Fields<T> =>
  Object.fromEntries(
    Object.entries(input)
      .filter(([, value]) => value !== undefined && value !== false)
      .filter(([, value]) => !Array.isArray(value) || value.length > 0)
      .map(([name, value]) => [name.replaceAll("-", "_"), value as unknown]),
  ) as Fields<T>
