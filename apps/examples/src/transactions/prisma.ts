/**
 * An order and its message in one interactive transaction of Prisma: both exist, or neither does.
 */
import type { Api, Transaction } from "@messaging-service/service"

/** The used part of the client in an interactive transaction. */
interface PrismaTransaction {
  readonly $executeRaw: (text: TemplateStringsArray, ...values: Array<unknown>) => Promise<number>
  readonly $queryRawUnsafe: <Rows>(text: string, ...values: Array<unknown>) => Promise<Rows>
}

/** Your generated `PrismaClient` is one. */
export interface Prisma {
  readonly $transaction: <A>(work: (tx: PrismaTransaction) => Promise<A>) => Promise<A>
}

/** What sends join. One for each transaction: concurrent sends take turns on it. */
export const joinable = (tx: PrismaTransaction): Transaction => ({
  query: async (text, values) => ({ rows: await tx.$queryRawUnsafe(text, ...values) }),
})

export const place = (prisma: Prisma, api: Api, id: number) =>
  prisma.$transaction(async (tx) => {
    const transaction = joinable(tx)
    await tx.$executeRaw`insert into public.orders values (${id})`
    await api.messages.send(
      { to: { phone: "+15550100002" }, text: `Order ${id} is placed.` },
      { idempotencyKey: `order ${id}`, transaction },
    )
  })
