-- Previews of portals: pages that show what a guest would see, each good for an hour, for whoever has its token.

create table portal_preview (
    organization_id uuid not null references organization (id),
    id uuid not null,
    token_hash bytea not null unique,
    expires_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, id)
);

create index portal_preview_by_end on portal_preview (organization_id, expires_at, id);
create index portal_preview_ended on portal_preview (expires_at);
