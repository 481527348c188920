-- Who is signed in. Of every secret there is its hash alone. What is a member's goes with the member.

create table member_session (
    organization_id uuid not null,
    id uuid not null,
    member_id uuid not null,
    token_hash bytea not null unique,
    created_at timestamptz not null,
    used_at timestamptz not null,
    primary key (organization_id, id),
    foreign key (organization_id, member_id) references member (organization_id, id) on delete cascade
);

create index member_session_of on member_session (organization_id, member_id, created_at, id);
create index member_session_by_start on member_session (created_at);
create index member_session_by_use on member_session (used_at);

-- Links by which members sign in, each of them once.

create table sign_in_ticket (
    organization_id uuid not null,
    id uuid not null,
    member_id uuid not null,
    token_hash bytea not null unique,
    expires_at timestamptz not null,
    return_to text not null,
    primary key (organization_id, id),
    foreign key (organization_id, member_id) references member (organization_id, id) on delete cascade
);

create index sign_in_ticket_of on sign_in_ticket (organization_id, member_id, expires_at, id);
create index sign_in_ticket_by_end on sign_in_ticket (expires_at);

-- Members are found by their address, whichever way its letters of ASCII are written.

alter table member add column email_key text generated always as (lower((doc ->> 'email') collate "C")) stored;
create index member_by_email on member (email_key);
