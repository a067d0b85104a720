-- the first request is there alone; while the back end works on it, 83 more arrive
CALL send_requests(0, 0);
CALL front_end_service();
CALL back_end_service(1);
CALL send_requests(1, 83);
CALL front_end_service();
CALL back_end_service(1);
CALL send_requests(84, 99);
CALL front_end_service();

-- the administrator's view, and whom it would delay if the group in place 12 were raised to 75
SELECT place, messages, raised_to FROM fairlead.waiting WHERE queue = 'BackEndQueue' LIMIT 3;
SELECT count(*), max(d.raised_to) FROM fairlead.waiting w, fairlead.delayed_by('BackEndQueue', w.in_group, 75) d
WHERE w.queue = 'BackEndQueue' AND w.place = 12;

CALL back_end_service();
CALL front_end_service();
CALL read_responses();
SELECT string_agg((regexp_match(body, '<request>(\d+)'))[1], ' ' ORDER BY place) FROM responses;

-- all ends are passed on, and nothing is left of any dialog
CALL front_end_service();
CALL back_end_service();
SELECT count(*) FROM fairlead.conversations;
