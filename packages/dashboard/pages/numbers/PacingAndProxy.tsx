/** What operators set for a number: how fast it may send, and the proxy of its connection. */
import { useQuery } from "@tanstack/react-query"
import type { OperatedNumber, Pacing, ProxyCheck } from "@messaging-service/client"
import { call, useCall } from "../api/call.ts"
import { Answer } from "../ui/Answer.tsx"
import { Form, formText } from "../ui/forms.tsx"
import { Button, Failure, Section } from "../ui/parts.tsx"
import type { NumberPath } from "./connection.ts"
import { numberLabels, pacingLabels, proxyProblemLabels, proxyLabels } from "./words.ts"

const change = "PATCH /admin/v1/workspaces/{id}/numbers/{number_id}"

export const PacingAndProxy = ({ path }: { path: NumberPath }) => {
  const number = useQuery({
    queryKey: ["numbers", path.id, "pacing", path.number_id] as const,
    // A change of nothing shows pacing and proxy as they are.
    queryFn: () => call(change, { path, body: {} }),
  })
  return (
    <Answer query={number}>
      {(data) => (
        <div className="flex flex-col gap-8">
          <PacingForm key={JSON.stringify(data.pacing)} pacing={data.pacing} path={path} />
          <ProxyForm proxy={data.proxy} path={path} />
        </div>
      )}
    </Answer>
  )
}

const names = Object.keys(pacingLabels.fields) as ReadonlyArray<keyof Pacing>

const PacingForm = ({ pacing, path }: { pacing: Pacing; path: NumberPath }) => {
  const save = useCall(change)
  const submit = (data: FormData) => {
    const valueOf = (name: string) => {
      const text = formText(data, name)
      return text === "" ? null : Number(text)
    }
    save.mutate({
      path,
      body: { pacing: Object.fromEntries(names.map((name) => [name, valueOf(name)])) },
    })
  }
  return (
    <Section title={pacingLabels.title} about={pacingLabels.about}>
      <Form
        className="card flex flex-col gap-4 p-4"
        action={pacingLabels.save}
        call={save}
        submit={submit}
        fields={[
          names.map((name) => ({
            name,
            shows: [`pacing.${name}`, name],
            type: "number",
            min: 0,
            label: pacingLabels.fields[name][0],
            about: pacingLabels.fields[name][1],
            defaultValue: pacing[name] ?? "",
          })),
        ]}
      >
        {save.isSuccess && <p role="status">{numberLabels.saved}</p>}
      </Form>
    </Section>
  )
}

/** Opens one connection through the proxy, and says what came of it. */
const CheckProxy = ({ path }: { path: NumberPath }) => {
  const check = useCall("POST /admin/v1/workspaces/{id}/numbers/{number_id}/check-proxy")
  return (
    <div className="flex flex-wrap items-center gap-3">
      <Button busy={check.isPending} onClick={() => check.mutate({ path })}>
        {proxyLabels.check}
      </Button>
      <p role="status">{check.isSuccess && !check.isPending && checkedLabels(check.data)}</p>
      {check.error && <Failure error={check.error} />}
    </div>
  )
}

const checkedLabels = ({ duration_ms, error }: ProxyCheck): string =>
  error === null ? proxyLabels.works(duration_ms) : proxyProblemLabels[error]

const ProxyForm = ({ path, proxy }: { proxy: OperatedNumber["proxy"]; path: NumberPath }) => {
  const save = useCall(change)
  const submit = (data: FormData, form: HTMLFormElement) =>
    save.mutate(
      { path, body: { proxy_url: formText(data, "url") } },
      { onSuccess: () => form.reset() },
    )
  return (
    <Section title={proxyLabels.title} about={proxyLabels.about}>
      <Form
        className="card flex flex-col gap-4 p-4"
        action={proxyLabels.save}
        call={save}
        submit={submit}
        intro={
          <>
            <p className="flex flex-wrap items-center gap-3 break-all">
              {proxy === null ? proxyLabels.direct : proxyLabels.now(proxy.host, proxy.port)}
              {proxy !== null && (
                <Button
                  busy={save.isPending}
                  onClick={() => save.mutate({ path, body: { proxy_url: null } })}
                >
                  {proxyLabels.remove}
                </Button>
              )}
            </p>
            {proxy !== null && <CheckProxy key={`${proxy.host}:${proxy.port}`} path={path} />}
          </>
        }
        fields={[
          {
            name: "url",
            shows: "proxy_url",
            label: proxyLabels.url,
            placeholder: proxyLabels.example,
            required: true,
            autoComplete: "off",
          },
        ]}
      />
    </Section>
  )
}
