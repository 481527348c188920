-- Previews of portals: pages that show what a guest would see, each good for an hour, for whoever has its token.

create table portal_preview (
    organization_id blob not null references organization (id),
    id blob not null,
    token_hash blob not null unique,
    expires_at integer not null,
    doc text not null,
    primary key (organization_id, id)
) strict, without rowid;

create index portal_preview_by_end on portal_preview (organization_id, expires_at, id);
create index portal_preview_ended on portal_preview (expires_at);
