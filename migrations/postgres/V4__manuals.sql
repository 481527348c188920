-- What guests read.

create table manual_category (
    organization_id uuid not null references organization (id),
    id uuid not null,
    title_id uuid,
    sort_order bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    primary key (organization_id, id)
);

create table manual (
    organization_id uuid not null references organization (id),
    id uuid not null,
    nickname_key text not null,
    category_id uuid,
    image_id uuid,
    is_active boolean not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    doc jsonb not null,
    primary key (organization_id, id),
    foreign key (organization_id, category_id) references manual_category (organization_id, id)
);
create index manual_by_category on manual (organization_id, category_id);
