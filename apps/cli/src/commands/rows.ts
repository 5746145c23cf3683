/**
 * Commands that show the answer of one call, each as a row. The client's types hold the name of the
 * call: its method must take what the row's kind of command gives it.
 */
import type { Listing, OperatorClient } from "@messaging-service/client"
import { command, id, many, once, placeOptions, workspace } from "../Command.ts"
import type { Command, Given, TakenRecord } from "../Command.ts"
import type { Column } from "../Output.ts"
import type { WorkspaceClient } from "../WorkspaceClient.ts"
import { limit, listed } from "./lists.ts"

/** Names such as `webhooks.test` of a client's methods with these parameters and such an answer. */
type Call<Client, Takes extends ReadonlyArray<unknown>, Answer> = {
  [Group in keyof Client & string]: {
    [Name in keyof Client[Group] & string]: Client[Group][Name] extends (...given: Takes) => Answer
      ? `${Group}.${Name}`
      : never
  }[keyof Client[Group] & string]
}[keyof Client & string]

type AnswerOf<Client, Named> =
  Named extends `${infer Group extends keyof Client & string}.${infer Name}`
    ? Client[Group][Name & keyof Client[Group]] extends (...given: never) => infer Answer
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
const ask = <Answer>(client: object, call: string, ...given: ReadonlyArray<unknown>): Answer => {
  const [group = "", name = ""] = call.split(".")
  type Methods = Readonly<Record<string, (...given: ReadonlyArray<unknown>) => Answer>>
  return (client as Record<string, Methods>)[group]?.[name]?.(...given) as Answer
}

/** Shows what the key, or the operator in its workspace, gets for the record with that id, or for each. */
export const callerShows = <const C extends Call<WorkspaceClient, [number], Promise<object>>>(
  words: string,
  record: string,
  call: C,
  summary: string,
  times: typeof once | typeof many = once,
): Command =>
  command({
    words,
    as: "key or operator",
    summary,
    arguments: { id: times(id(record)) },
    options: placeOptions,
    run: async (given, { caller, output }) => {
      for (const each of [given.id].flat()) output.one(await ask<object>(caller(), call, each))
    },
  })

/** Shows what the operator gets for the record with that id in a workspace. */
export const operatorShows = <
  const C extends Call<OperatorClient, [number, number], Promise<object>>,
>(
  words: string,
  record: string,
  call: C,
  summary: string,
  columns?: ColumnsOf<OperatorClient, C>,
): Command =>
  command({
    words,
    as: "operator",
    summary,
    arguments: { id: once(id(record)) },
    options: { workspace },
    run: async (given, { operator, output }) =>
      output.one(
        await ask<object>(operator(), call, given.workspace, given.id),
        columns as Columns,
      ),
  })

/** Lists what the key, or the operator in its workspace, gets: what these options leave. */
export const callerLists = <
  const O extends TakenRecord,
  const C extends Call<WorkspaceClient, [Fields<Given<O>>], Listing<object>>,
>(
  words: string,
  call: C,
  summary: string,
  columns: ColumnsOf<WorkspaceClient, C>,
  options: O,
): Command =>
  command({
    words,
    as: "key or operator",
    summary,
    options: { ...placeOptions, ...options, ...limit },
    run: (given, { caller, output }) => {
      const filter = Object.fromEntries(Object.keys(options).map((name) => [name, given[name]]))
      return listed(given, output, columns as Columns, (page) =>
        ask(caller(), call, { ...page, ...fieldsOf(filter) }),
      )
    },
  })

/** Lists what the operator gets in a workspace. */
export const operatorLists = <
  const C extends Call<OperatorClient, [number, { readonly limit: number }], Listing<object>>,
>(
  words: string,
  call: C,
  summary: string,
  columns: ColumnsOf<OperatorClient, C>,
): Command =>
  command({
    words,
    as: "operator",
    summary,
    options: { workspace, ...limit },
    run: ({ workspace: inside, ...given }, { operator, output }) =>
      listed(given, output, columns as Columns, (page) => ask(operator(), call, inside, page)),
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
export const fieldsOf = <T extends object>(given: T): Fields<T> =>
  Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== undefined && value !== false)
      .filter(([, value]) => !Array.isArray(value) || value.length > 0)
      .map(([name, value]) => [name.replaceAll("-", "_"), value as unknown]),
  ) as Fields<T>
