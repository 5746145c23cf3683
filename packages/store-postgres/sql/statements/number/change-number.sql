update numbers n
set label = coalesce(:label, n.label),
  proxy_host = case when :keeps_proxy then n.proxy_host else :proxy_host end,
  proxy_port = case when :keeps_proxy then n.proxy_port else :proxy_port end,
  proxy_url = case when :keeps_proxy then n.proxy_url else :proxy_url end
where n.id = :id
  and n.workspace_id = :workspace_id
  and n.removed_at is null
returning
  n.id, n.workspace_id, n.mode, n.phone, n.label, n.platform, n.status, n.login_method, n.created_at
