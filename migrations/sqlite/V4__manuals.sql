-- What guests read.

create table manual_category (
    organization_id blob not null references organization (id),
    id blob not null,
    title_id blob,
    sort_order integer not null,
    created_at integer not null,
    updated_at integer not null,
    primary key (organization_id, id)
) strict;

create table manual (
    organization_id blob not null references organization (id),
    id blob not null,
    nickname_key text not null,
    category_id blob,
    image_id blob,
    is_active integer not null,
    created_at integer not null,
    updated_at integer not null,
    doc text not null,
    primary key (organization_id, id),
    foreign key (organization_id, category_id) references manual_category (organization_id, id)
) strict;
create index manual_by_category on manual (organization_id, category_id);
