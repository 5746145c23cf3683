/** Adds an endpoint, and shows the secret of its signatures once. */
import type { FormEvent } from "react"
import type { Webhook } from "@messaging-service/client"
import { useCall } from "../api/useCall.ts"
import { Dialog } from "../ui/Dialog.tsx"
import { CheckField, FormEnd, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { Button, Secret } from "../ui/parts.tsx"
import { dialogWords } from "../ui/words.ts"
import { eventWords, newWebhookWords as words } from "./words.ts"

type Event = Webhook["events"][number]

const events = Object.keys(eventWords) as ReadonlyArray<Event>

export const NewWebhook = ({ close, id }: { id: number; close: () => void }) => {
  const add = useCall("POST /admin/v1/workspaces/{id}/webhooks")
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    add.mutate({
      path: { id },
      body: {
        url: textOf(data, "url"),
        description: textOf(data, "description"),
        events: events.filter((one) => data.has(one)),
      },
    })
  }
  if (add.data !== undefined)
    return (
      <Dialog title={words.title} close={close}>
        {"secret" in add.data ? (
          <Secret label={words.secret} text={add.data.secret} />
        ) : (
          <p>{words.known}</p>
        )}
        <Button look="primary" className="self-end" onClick={close}>
          {dialogWords.done}
        </Button>
      </Dialog>
    )
  return (
    <Dialog title={words.title} close={close}>
      <form className="flex flex-col gap-4" onSubmit={submit}>
        <TextField
          name="url"
          type="url"
          label={words.url}
          about={words.urlAbout}
          problem={fieldProblem(add.error, "url")}
          placeholder={words.example}
          required
        />
        <TextField
          name="description"
          label={words.description}
          problem={fieldProblem(add.error, "description")}
        />
        <fieldset className="flex flex-col gap-2">
          <legend className="pb-1 text-sm font-medium">{words.events}</legend>
          {events.map((one) => (
            <CheckField key={one} name={one} label={eventWords[one]} defaultChecked />
          ))}
          <p role="alert" className="text-xs text-red empty:hidden">
            {fieldProblem(add.error, "events")}
          </p>
        </fieldset>
        <FormEnd
          action={words.action}
          busy={add.isPending}
          error={add.error}
          fields={["url", "description", "events"]}
          close={close}
        />
      </form>
    </Dialog>
  )
}
