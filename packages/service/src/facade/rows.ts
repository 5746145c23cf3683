/**
 * Operations of the facade as rows: the core's service, its method, and how to show what it answers.
 * What a row promises comes from the method's own type; the interface in `api` checks it. An operation
 * that does more is written out next to its rows.
 */
import type { CursorPage, Failure, IdempotencyKey, IdempotentResult } from "@messaging-service/core"
import { Effect, identity } from "effect"
import type { Context } from "effect"
import type { HasId, Listing, Made, PageOptions, RepeatOptions } from "../api/common.ts"
import type { ComposedService } from "../compose/index.ts"
import { listing, repeatable, toId, withReplayed } from "./Calls.ts"
import type { Calling, Run } from "./Calls.ts"

type Args = ReadonlyArray<unknown>

type Method = (...args: Args) => Effect.Effect<unknown, Failure>

/** The methods of a service that a row can call. */
type MethodName<Shape> = {
  [Name in keyof Shape]: Shape[Name] extends (...args: never) => ReturnType<Method> ? Name : never
}[keyof Shape]

/**
 * What a method takes after the arguments in front. Those that are optional in the core are required
 * here: a caller of the facade then cannot reach one that its own interface hides.
 */
type Rest<Front extends Args, Call> = Call extends (
  ...args: readonly [...Front, ...infer Last]
) => unknown
  ? Required<Last>
  : [unfit: never]

type Answer<Call> = Call extends (...args: never) => Effect.Effect<infer A, Failure> ? A : never

/** What a method that can be repeated takes between the arguments in front and the key. */
type Command<Front extends Args, Call> = Call extends (
  ...args: readonly [...Front, infer Input, IdempotencyKey | null]
) => unknown
  ? Input
  : never

type Created<Call> = Answer<Call> extends IdempotentResult<infer A> ? A : never

type Listed<Call> = Answer<Call> extends CursorPage<infer A> ? A : never

type Query<Given extends Args> = Given extends readonly [infer Q extends PageOptions] ? Q : never

/** Makes a record public: a function, or an effect that makes one for this moment. */
type Show<A, B> = ((record: A) => B) | Effect.Effect<(record: A) => B, Failure, ComposedService>

const shower = <A, B>(show: Show<A, B>) => (Effect.isEffect(show) ? show : Effect.succeed(show))

/** Shows an answer as it is. */
const unchanged = identity as (answer: unknown) => never

type Service<Shape> = Context.Key<ComposedService, Shape>

/** Calls methods by name. The types of the rows let pass only what a method takes. */
const makeNamed = (run: Run, front: Effect.Effect<Args, Failure, ComposedService>) => {
  const call = <A>(
    service: Service<unknown>,
    name: PropertyKey,
    args: Effect.Effect<Args, Failure>,
  ) =>
    Effect.gen(function* () {
      const first = yield* front
      const last = yield* args
      const methods = (yield* service) as Readonly<Record<PropertyKey, Method>>
      return (yield* (methods[name] as Method)(...first, ...last)) as A
    })
  return {
    answer: <A, B>(
      service: Service<unknown>,
      name: PropertyKey,
      args: Effect.Effect<Args, Failure>,
      show: Show<A, B>,
    ): Promise<B> =>
      run(
        Effect.flatMap(call<A>(service, name, args), (record) =>
          Effect.map(shower(show), (shown) => shown(record)),
        ),
      ),
    list: <A, B, Given extends PageOptions>(
      service: Service<unknown>,
      name: PropertyKey,
      query: Given | undefined,
      args: (request: Given) => Args,
      show: Show<A, B>,
    ): Listing<B> =>
      listing(
        run,
        query,
        (request) =>
          call<CursorPage<A>>(
            service,
            name,
            Effect.sync(() => args(request)),
          ),
        shower(show),
      ),
  }
}

/** The key of a command that can be repeated. */
const takeKey = (options: RepeatOptions | undefined, path: string, command: unknown) =>
  Effect.suspend(() => repeatable(options, path, command))

/** Shows the answer of a command that can be repeated. */
const replayable =
  <A, B extends object>(show: (record: A) => B) =>
  ({ answer, replayed }: IdempotentResult<A>): Made<B> =>
    withReplayed(show(answer), replayed)

/** Makes rows of methods that all take these arguments in front, such as the caller. */
export const makeRows = <Front extends Args>(
  run: Run,
  front: Effect.Effect<Front, Failure, ComposedService>,
) => {
  const { answer, list } = makeNamed(run, front)
  return {
    /** Takes what the method takes. */
    op:
      <Shape, Name extends MethodName<Shape>, B = Answer<Shape[Name]>>(
        service: Service<Shape>,
        name: Name,
        show: Show<Answer<Shape[Name]>, B> = unchanged,
      ) =>
      (...args: Rest<Front, Shape[Name]>): Promise<B> =>
        answer(service, name, Effect.succeed(args), show),

    /** Takes a thing, or its id, and what the method takes after the id. */
    on:
      <Shape, Name extends MethodName<Shape>, B = Answer<Shape[Name]>>(
        service: Service<Shape>,
        name: Name,
        show: Show<Answer<Shape[Name]>, B> = unchanged,
      ) =>
      (thing: HasId, ...args: Rest<[...Front, undefined], Shape[Name]>): Promise<B> => {
        const all = Effect.sync(() => [toId(thing), ...args])
        return answer(service, name, all, show)
      },

    /** Takes a command that can be repeated; `path` is that of the same operation over HTTP. */
    create:
      <Shape, Name extends MethodName<Shape>, B extends object>(
        service: Service<Shape>,
        name: Name,
        path: string,
        show: (record: Created<Shape[Name]>) => B,
      ) =>
      (command: Command<Front, Shape[Name]>, options?: RepeatOptions): Promise<Made<B>> => {
        const args = Effect.map(takeKey(options, path, command), (key) => [command, key])
        return answer(service, name, args, replayable(show))
      },

    /** Takes a thing, or its id, and a command about it that can be repeated. */
    createOn:
      <Shape, Name extends MethodName<Shape>, B extends object>(
        service: Service<Shape>,
        name: Name,
        toPath: (id: number | undefined) => string,
        show: (record: Created<Shape[Name]>) => B,
      ) =>
      (
        thing: HasId,
        command: Command<[...Front, undefined], Shape[Name]>,
        options?: RepeatOptions,
      ): Promise<Made<B>> => {
        const id = toId(thing)
        const args = Effect.map(takeKey(options, toPath(id), command), (key) => [id, command, key])
        return answer(service, name, args, replayable(show))
      },

    /** Takes a query. */
    pages:
      <Shape, Name extends MethodName<Shape>, B>(
        service: Service<Shape>,
        name: Name,
        show: Show<Listed<Shape[Name]>, B>,
      ) =>
      (query?: Query<Rest<Front, Shape[Name]>>): Listing<B> =>
        list(service, name, query, (request) => [request], show),

    /** Takes a thing, or its id, and a query. */
    pagesOn:
      <Shape, Name extends MethodName<Shape>, B>(
        service: Service<Shape>,
        name: Name,
        show: Show<Listed<Shape[Name]>, B>,
      ) =>
      (thing: HasId, query?: Query<Rest<[...Front, undefined], Shape[Name]>>): Listing<B> =>
        list(service, name, query, (request) => [toId(thing), request], show),
  }
}

/** Rows of what a caller does. */
export const callerRows = ({ caller, run }: Pick<Calling, "caller" | "run">) =>
  makeRows(
    run,
    Effect.map(caller, (who) => [who] as const),
  )

/** Shows each record of a list. */
export const each =
  <A, B>(show: (record: A) => B) =>
  (records: ReadonlyArray<A>): ReadonlyArray<B> =>
    records.map((record) => show(record))

/** Shows no answer. */
export const nothing = (): void => {}
