/** One message in a panel of its own: why it waits, all that happened to it, and what a user can do. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import type { ReactNode } from "react"
import type { Message } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { Boundary } from "../ui/Boundary.tsx"
import { ConfirmCall } from "../ui/Dialog.tsx"
import { Icon } from "../ui/Icon.tsx"
import { Button, Copy, Fact, Kbd, Loading, QueryFailure } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import type { MessageSearch } from "./messageSearch.ts"
import { MessageStatus } from "./MessageStatus.tsx"
import { MessageFile } from "./MessageFile.tsx"
import { getRecipient } from "./recipients.ts"
import { SendAgain, isSentAgain } from "./SendAgain.tsx"
import { Steps } from "./Steps.tsx"
import type { WorkspaceMessage } from "./timeline.ts"
import { WhyItWaits } from "./WhyItWaits.tsx"
import { panelLabels as labels } from "./words.ts"

const timeline = "GET /admin/v1/workspaces/{id}/messages/{message_id}/timeline"

/** Deliveries of its event do not count as news of the message. */
const deliveriesMillis = 5000

export const MessagePanel = ({
  close,
  step,
  known,
  messageId,
  mode,
  workspaceId,
}: {
  workspaceId: number
  messageId: number
  mode: MessageSearch["mode"]
  /** The message as the list has it, until its own answer arrives. */
  known: WorkspaceMessage | undefined
  close: () => void
  /** Opens the message so many rows below. */
  step: (by: number) => void
}) => {
  const path = { id: workspaceId, message_id: messageId }
  const { data, error, refetch } = useQuery({
    ...operationQuery(timeline, { path }),
    refetchInterval: deliveriesMillis,
  })
  const message = data?.message ?? known
  const waits = message?.status === "queued" || message?.status === "scheduled"

  return (
    <Panel messageId={messageId} close={close} step={step}>
      <QueryFailure error={error} again={() => void refetch()} />
      <Boundary of={data ?? known}>
        {message && <Content message={message} mode={mode} workspaceId={workspaceId} />}
        {waits && data?.waiting && (
          <WhyItWaits waiting={data.waiting} message={data.message} workspaceId={workspaceId} />
        )}
        {message?.error && <WhyItFailed error={message.error} />}
        {message && isSentAgain(message) && (
          <SendAgain message={message} mode={mode ?? "live"} workspaceId={workspaceId} />
        )}
        <section className="flex flex-col gap-3">
          <h3 className="label">{labels.happened}</h3>
          {data === undefined && !error && <Loading rows={3} />}
          {data?.truncated && <p className="text-xs text-soft">{labels.truncated}</p>}
          {data && <Steps entries={data.data} />}
        </section>
        {message && (
          <Facts message={message} workspaceId={workspaceId}>
            {data?.campaign && (
              <CampaignFact
                workspaceId={workspaceId}
                campaign={data.campaign.id}
                row={data.campaign.row}
                mode={mode}
              />
            )}
          </Facts>
        )}
      </Boundary>
      {waits && <Cancel path={path} />}
    </Panel>
  )
}

const Panel = ({
  children,
  close,
  messageId,
  step,
}: {
  messageId: number
  close: () => void
  step: (by: number) => void
  children: ReactNode
}) => (
  <aside
    aria-label={labels.toTitle(messageId)}
    className="sticky top-0 flex h-dvh ml-auto w-[24rem] shrink-0 2xl:w-[26rem] flex-col overflow-y-auto border-l border-line bg-surface max-lg:fixed max-lg:inset-0 max-lg:z-10 max-lg:w-full"
  >
    <header className="sticky top-0 z-1 flex h-14 shrink-0 items-center gap-2 border-b border-line bg-surface px-5">
      <h2 className="text-lg font-semibold">
        {labels.title} <span className="tabular-nums">{messageId}</span>
      </h2>
      <Copy text={String(messageId)} />
      <div className="ml-auto flex">
        <Button
          variant="quiet"
          aria-label={labels.previous}
          title={labels.previous}
          aria-keyshortcuts="k"
          onClick={() => step(-1)}
        >
          <Icon name="chevron" className="-rotate-90" />
          <Kbd>k</Kbd>
        </Button>
        <Button
          variant="quiet"
          aria-label={labels.next}
          title={labels.next}
          aria-keyshortcuts="j"
          onClick={() => step(1)}
        >
          <Icon name="chevron" className="rotate-90" />
          <Kbd>j</Kbd>
        </Button>
        <Button
          variant="quiet"
          aria-label={labels.close}
          title={labels.close}
          aria-keyshortcuts="Escape"
          onClick={close}
        >
          <Icon name="cross" />
          <Kbd>Esc</Kbd>
        </Button>
      </div>
    </header>
    <div className="flex flex-col gap-5 p-5">{children}</div>
  </aside>
)

const Content = ({
  message,
  mode,
  workspaceId,
}: {
  message: Message
  mode: MessageSearch["mode"]
  workspaceId: number
}) => (
  <section className="flex flex-col gap-3">
    <div className="flex min-w-0 items-center gap-2">
      <MessageStatus status={message.status} />
      <span className="truncate font-mono text-sm">{getRecipient(message.to)}</span>
      <Copy text={getRecipient(message.to)} />
    </div>
    {message.media && <MessageFile media={message.media} mode={mode} workspaceId={workspaceId} />}
    {(message.text !== "" || message.media === null) && (
      <p className="max-h-48 overflow-y-auto rounded-lg rounded-tl-[3px] bg-sunken px-3 py-2 break-words whitespace-pre-wrap">
        {message.text || <span className="text-soft">{labels.noText}</span>}
      </p>
    )}
  </section>
)

const WhyItFailed = ({ error }: { error: NonNullable<Message["error"]> }) => (
  <section className="rounded-lg bg-red-wash px-3 py-2.5 text-sm text-red">
    <h3 className="font-semibold">{labels.whyFailed}</h3>
    <p className="break-words">{error.message}</p>
    <p className="pt-1 font-mono text-2xs">{error.code}</p>
  </section>
)

const Facts = ({
  children,
  message,
  workspaceId,
}: {
  message: WorkspaceMessage
  workspaceId: number
  children: ReactNode
}) => (
  <dl className="grid grid-cols-2 gap-3 border-t border-line pt-4">
    <Fact name={labels.from}>
      <Link
        to="/w/$workspaceId/numbers/$numberId"
        params={{ workspaceId: String(workspaceId), numberId: String(message.from.id) }}
        className="text-accent hover:underline"
      >
        {message.from.phone === null ? labels.noPhone : `+${message.from.phone}`}
      </Link>
    </Fact>
    <Fact name={labels.accepted}>
      <When at={message.created_at} how="clock" />
    </Fact>
    <Fact name={labels.planned}>
      {message.send_at === null ? labels.atOnce : <When at={message.send_at} how="clock" />}
    </Fact>
    <Fact name={labels.expires}>
      {message.expires_at === null ? labels.never : <When at={message.expires_at} how="clock" />}
    </Fact>
    {message.reference !== null && (
      <Fact name={labels.reference}>
        <Link
          to="/w/$workspaceId/messages"
          params={{ workspaceId: String(workspaceId) }}
          search={({ mode, open }) => ({ reference: message.reference ?? "", mode, open })}
          className="font-mono text-xs text-accent hover:underline"
        >
          {message.reference}
        </Link>
      </Fact>
    )}
    {children}
  </dl>
)

/** The campaign that the message was made by; nothing once that is deleted. */
const CampaignFact = ({
  campaign,
  mode,
  row,
  workspaceId,
}: {
  workspaceId: number
  campaign: number
  row: number
  mode: MessageSearch["mode"]
}) => {
  const path = { id: workspaceId, campaign_id: campaign }
  const { data } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/campaigns/{campaign_id}", {
      path,
      query: { mode },
    }),
  )
  if (data === undefined) return null
  return (
    <Fact name={labels.campaign}>
      <Link
        to="/w/$workspaceId/campaigns/$campaignId"
        params={{ workspaceId: String(workspaceId), campaignId: String(campaign) }}
        search={mode === undefined ? {} : { mode }}
        className="text-accent hover:underline"
      >
        {labels.ofCampaign(data.name, row)}
      </Link>
    </Fact>
  )
}

const Cancel = ({ path }: { path: { readonly id: number; readonly message_id: number } }) => {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button variant="danger" onClick={() => setAsking(true)}>
        {labels.cancel}
      </Button>
      {isAsking && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/messages/{message_id}"
          input={{ path }}
          title={labels.cancelTitle}
          action={labels.cancel}
          dismiss={labels.keep}
          close={() => setAsking(false)}
        >
          {labels.cancelAbout}
        </ConfirmCall>
      )}
    </>
  )
}
