/** Pauses a number until a time or until it is resumed. */
import type { Connection } from "@messaging-service/client"
import { useCall } from "../api/useCall.ts"
import { Form, textOf } from "../ui/forms.tsx"
import { Button, Failure } from "../ui/parts.tsx"
import { Section } from "../ui/Section.tsx"
import type { NumberPath } from "./connection.ts"
import { pauseWords as words } from "./words.ts"

export const PauseSection = ({
  connection,
  path,
}: {
  connection: Connection | undefined
  path: NumberPath
}) => {
  const pause = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/pause")
  const resume = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/resume")
  const submit = (data: FormData) => {
    const until = textOf(data, "until")
    pause.mutate({
      path,
      body: { until: until === "" ? null : new Date(until).toISOString() },
    })
  }
  return (
    <Section title={words.title} about={words.about}>
      {connection?.reason === "paused" ? (
        <div className="card flex flex-wrap items-center gap-3 p-4">
          <p role="status" className="mr-auto">
            {words.paused}
          </p>
          {resume.error && <Failure error={resume.error} />}
          <Button look="primary" busy={resume.isPending} onClick={() => resume.mutate({ path })}>
            {words.resume}
          </Button>
        </div>
      ) : (
        <Form
          className="card flex flex-col gap-3 p-4"
          action={words.pause}
          call={pause}
          submit={submit}
          fields={[
            {
              name: "until",
              type: "datetime-local",
              label: words.until,
              about: words.untilAbout,
            },
          ]}
        />
      )}
    </Section>
  )
}
