/** Conversations of a workspace: on or off, for the operator; whether they are, for its owner. */
import { useState } from "react"
import { useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { ConfirmCall } from "../ui/Dialog.tsx"
import { Button, Failure, Section } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import { useConversations } from "./conversations.ts"
import { conversationsLabels as labels } from "./words.ts"

export const ConversationsSection = ({ id, isOperator }: { id: number; isOperator: boolean }) => {
  const conversations = useConversations(id)
  const [isEnding, setEnding] = useState(false)
  const turnOn = useCall("PUT /admin/v1/workspaces/{id}/conversations")
  const path = { id }
  const { data } = conversations
  return (
    <Section
      title={labels.title}
      about={labels.about}
      action={
        isOperator &&
        data !== undefined &&
        (data === null ? (
          <Button busy={turnOn.isPending} onClick={() => turnOn.mutate({ path, body: {} })}>
            {labels.turnOn}
          </Button>
        ) : (
          <Button onClick={() => setEnding(true)}>{labels.turnOff}</Button>
        ))
      }
    >
      {turnOn.error && <Failure error={turnOn.error} />}
      <Answer query={conversations}>
        {(settings) => (
          <p className="text-soft">
            {settings === null ? (
              labels.off
            ) : (
              <>
                {labels.onSince} <When at={settings.since} />
              </>
            )}
          </p>
        )}
      </Answer>
      {isEnding && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/conversations"
          input={{ path }}
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
