//! The permissions of the benchmark's credentials.

/// All permissions that the service has.
pub const PERMISSIONS: [&str; 11] = [
    "view_properties",
    "modify_properties",
    "view_guides",
    "modify_guides",
    "modify_tasks",
    "manage_organization",
    "view_reservations",
    "view_tasks",
    "view_devices",
    "view_workflows",
    "view_analytics",
];
