/** Conversations of a workspace: their settings, for the operator to change and for its owner to see. */
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { useCall } from "../api/call.ts"
import type { Answer as AnswerOf } from "../api/operations.ts"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall, FormDialog } from "../ui/Dialog.tsx"
import { formText } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { Button, Fact, Section } from "../ui/parts.tsx"
import { formatSize } from "../ui/size.ts"
import { When } from "../ui/Time.tsx"
import { pageNames } from "../ui/words.ts"
import { useConversations } from "./conversations.ts"
import { conversationsLabels as labels } from "./words.ts"

type Conversations = AnswerOf<"GET /admin/v1/workspaces/{id}/conversations">

export const ConversationsSection = ({ id, isOperator }: { id: number; isOperator: boolean }) => {
  const conversations = useConversations(id)
  const [isEditing, setEditing] = useState(false)
  const [isEnding, setEnding] = useState(false)
  const { data } = conversations
  return (
    <Section
      title={labels.title}
      about={labels.about}
      action={
        isOperator &&
        data !== undefined && (
          <>
            <Button onClick={() => setEditing(true)}>
              {data === null ? labels.turnOn : labels.edit}
            </Button>
            {data !== null && <Button onClick={() => setEnding(true)}>{labels.turnOff}</Button>}
          </>
        )
      }
    >
      <Answer query={conversations}>
        {(settings) =>
          settings === null ? (
            <p className="text-soft">{labels.off}</p>
          ) : (
            <On id={id} settings={settings} />
          )
        }
      </Answer>
      {isEditing && data !== undefined && (
        <EditConversations id={id} settings={data} close={() => setEditing(false)} />
      )}
      {isEnding && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/conversations"
          input={{ path: { id } }}
          title={labels.turnOffTitle}
          action={labels.turnOff}
          close={() => setEnding(false)}
        >
          {labels.turnOffAbout}
        </ConfirmCall>
      )}
    </Section>
  )
}

const toState = (isOn: boolean) => (isOn ? labels.on : labels.offValue)

const On = ({ id, settings }: { id: number; settings: Conversations }) => {
  const params = { workspaceId: String(id) }
  const { bytes, messages } = settings.stored
  const media = labels.mediaOptions.find(([value]) => value === settings.media)
  return (
    <div className="flex flex-col gap-3">
      <p className="text-soft">
        {labels.onSince} <When at={settings.since} />. {labels.stored(messages, formatSize(bytes))}
      </p>
      <dl className="card grid gap-4 p-4 sm:grid-cols-2 md:grid-cols-3">
        <Fact name={labels.retention}>{settings.retention_days}</Fact>
        <Fact name={labels.media}>{media?.[1]}</Fact>
        <Fact name={labels.maxFile}>{formatSize(settings.max_file_bytes)}</Fact>
        <Fact name={labels.maxStorage}>{formatSize(settings.max_storage_bytes)}</Fact>
        <Fact name={labels.groups}>{toState(settings.groups)}</Fact>
        <Fact name={labels.hold}>{toState(settings.hold_new_chats)}</Fact>
      </dl>
      <p className="text-sm text-soft">
        {labels.next[0]}
        <Link className="underline" to="/w/$workspaceId/chats" params={params}>
          {pageNames.chats}
        </Link>
        {labels.next[1]}
        <Link className="underline" to="/w/$workspaceId/webhooks" params={params}>
          {pageNames.webhooks}
        </Link>
        {labels.next[2]}
      </p>
    </div>
  )
}

const mebibyte = 1_048_576

const toBytes = (data: FormData, name: string): number =>
  Math.round(Number(formText(data, name)) * mebibyte)

const defaults = {
  groups: false,
  retention_days: 30,
  media: "on_arrival",
  max_file_bytes: 16 * mebibyte,
  max_storage_bytes: 5120 * mebibyte,
  hold_new_chats: false,
} as const

type Settings = Omit<Conversations, "since" | "stored">

/** Turns them on with these settings, or replaces those that are on. */
const EditConversations = ({
  close,
  id,
  settings,
}: {
  id: number
  settings: Conversations | null
  close: () => void
}) => {
  const call = useCall("PUT /admin/v1/workspaces/{id}/conversations", close)
  const submit = (data: FormData) =>
    call.mutate({
      path: { id },
      body: {
        groups: data.has("groups"),
        retention_days: Number(formText(data, "retention_days")),
        media:
          labels.mediaOptions.find(([value]) => value === formText(data, "media"))?.[0] ??
          defaults.media,
        max_file_bytes: toBytes(data, "max_file_bytes"),
        max_storage_bytes: toBytes(data, "max_storage_bytes"),
        hold_new_chats: data.has("hold_new_chats"),
      },
    })
  return (
    <FormDialog
      title={settings === null ? labels.turnOnTitle : labels.editTitle}
      action={settings === null ? labels.turnOn : labels.save}
      call={call}
      submit={submit}
      close={close}
      fields={toFields(settings ?? defaults)}
    />
  )
}

const { inMebibytes } = labels

const amount = (name: string, label: string, about: string, bytes: number) =>
  ({
    name,
    label,
    about,
    defaultValue: bytes / mebibyte,
    type: "number",
    step: "any",
    min: 0,
    required: true,
  }) as const

const toFields = (settings: Settings): FormFields => [
  [
    {
      name: "retention_days",
      label: labels.retention,
      about: labels.retentionAbout,
      defaultValue: settings.retention_days,
      type: "number",
      min: 1,
      max: 365,
      required: true,
    },
    {
      name: "media",
      label: labels.media,
      defaultValue: settings.media,
      options: labels.mediaOptions,
    },
    amount(
      "max_file_bytes",
      inMebibytes(labels.maxFile),
      labels.maxFileAbout,
      settings.max_file_bytes,
    ),
    amount(
      "max_storage_bytes",
      inMebibytes(labels.maxStorage),
      labels.maxStorageAbout,
      settings.max_storage_bytes,
    ),
  ],
  {
    name: "groups",
    type: "checkbox",
    label: labels.groups,
    about: labels.groupsAbout,
    defaultChecked: settings.groups,
  },
  {
    name: "hold_new_chats",
    type: "checkbox",
    label: labels.hold,
    about: labels.holdAbout,
    defaultChecked: settings.hold_new_chats,
  },
]
