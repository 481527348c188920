-- The form a message was sent from: sent twice, it is one message.

alter table guest_message add column form_key uuid;
create unique index guest_message_by_form on guest_message (organization_id, reservation_id, form_key) where form_key is not null;
