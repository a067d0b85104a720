-- Whether a body is what its message type says, where plain SQL sends it. The rules are those of
-- dialogs/validation.py, and both are held to the same bodies; what SQL cannot look at is refused by name
-- (FL009), and never taken. SQLSTATE FLXML stays in here: why a text is no XML.

CREATE OR REPLACE FUNCTION fairlead._fault(p_type text, p_format bigint, p_body bytea) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  said jsonb;
BEGIN
  SELECT d.definition::jsonb INTO said FROM fairlead.declared d
    WHERE d.kind = 'message_type' AND d.name = p_type;
  CASE coalesce(said ->> 'validation', 'none')
  WHEN 'none' THEN
    RETURN NULL;  -- a body of a type that is not declared may be anything, too
  WHEN 'empty' THEN
    RETURN CASE WHEN p_body <> '' THEN
      format('found %s bytes, allowed: an empty body', octet_length(p_body)) END;
  WHEN 'json' THEN
    IF jsonb_typeof(said -> 'schema') = 'object' THEN
      PERFORM fairlead._refuse(format('type: found %L, which has a JSON Schema, allowed in SQL: a type '
        'without one; send it with the library', p_type), 'FL009');
    END IF;
    RETURN fairlead._not_json(p_body);
  ELSE
    RETURN fairlead._not_xml(p_format, p_body);
  END CASE;
END $$;

-- Why a body is no JSON; NULL: it is.
CREATE OR REPLACE FUNCTION fairlead._not_json(p_body bytea) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  whole text;
  number_ text;
BEGIN
  BEGIN
    whole := convert_from(p_body, 'UTF8');
  EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
    RETURN 'found no JSON (it is not UTF-8), allowed: JSON in UTF-8';
  END;
  BEGIN
    PERFORM whole::json;
  EXCEPTION
    WHEN statement_too_complex THEN
      RETURN 'found JSON that is too deep, allowed: fewer lists and objects in each other';
    WHEN data_exception THEN
      RETURN format('found no JSON (%s), allowed: JSON', SQLERRM);
  END;
  IF whole ~ '[eE]' OR whole ~ '[0-9]{255}' THEN  -- else no number is too large for a program
    FOR number_ IN SELECT m[1] FROM regexp_matches(regexp_replace(whole, '"(?:[^"\\]|\\.)*"', '', 'g'),
        '([0-9][0-9.eE+-]*)', 'g') m LOOP
      IF number_ ~ '^[0-9]+$' THEN
        IF length(number_) > 4300 THEN
          RETURN 'found JSON with an integer of thousands of digits, allowed: shorter ones';
        END IF;
      ELSIF fairlead._is_infinite(number_) THEN
        RETURN format('found the number %s, allowed: numbers below 10^308', left(number_, 20));
      END IF;
    END LOOP;
  END IF;
  RETURN NULL;
END $$;

-- Whether a number that has a point or an exponent is too large for a program's numbers.
CREATE OR REPLACE FUNCTION fairlead._is_infinite(p_number text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  RETURN p_number::numeric >= 1.7976931348623159e308;
EXCEPTION WHEN numeric_value_out_of_range OR invalid_text_representation THEN
  RETURN p_number !~ '[eE]-' AND p_number !~ '^0+(?:\.0*)?[eE]';
END $$;

-- Why a body is no well-formed XML; NULL: it is.
CREATE OR REPLACE FUNCTION fairlead._not_xml(p_format bigint, p_body bytea) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  whole text := fairlead._xml_text(p_format, p_body);
  token text;
  first boolean := true;
  rooted boolean := false;
  names text[] := '{}';
  scopes jsonb[] := '{}';
  depth integer := 0;
  element record;
BEGIN
  IF whole ~ '[\u0001-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]' THEN
    RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'a character that XML does not have';
  END IF;
  FOR token IN SELECT m[1] FROM regexp_matches(whole, '(<!--(?:[^-]|-[^-])*-->|'
      '<\?(?:[^?]|\?+[^?>])*\?+>|<!\[CDATA\[(?:[^]]|\][^]]|\]\]+[^]>])*\]\]+>|<!DOCTYPE|'
      '<[^!?<>"''](?:[^<>"'']|"[^"<]*"|''[^''<]*'')*>|[^<]+|<)', 'g') m LOOP
    IF token LIKE '<?%' THEN
      PERFORM fairlead._xml_instruction(token, first);
    ELSIF token = '<!DOCTYPE' AND NOT rooted THEN
      RETURN 'found a DOCTYPE, allowed: XML without one';
    ELSIF token LIKE '<!--%' THEN
      NULL;
    ELSIF token LIKE '<![CDATA%' AND depth > 0 THEN
      NULL;
    ELSIF token LIKE '</%' THEN
      IF depth = 0 OR token !~ ('^</' || names[depth] || '[ \t\r\n]*>$') THEN
        RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'mismatched tag';
      END IF;
      depth := depth - 1;
    ELSIF token LIKE '<_%' THEN
      IF rooted AND depth = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'junk after document element';
      ELSIF depth = 1000 THEN
        RETURN 'found elements more than 1,000 deep, allowed: fewer';
      END IF;
      element := fairlead._xml_element(token, CASE WHEN depth = 0 THEN '{}' ELSE scopes[depth] END);
      rooted := true;
      IF NOT element.o_empty THEN
        depth := depth + 1;
        names[depth] := replace(element.o_name, '.', '\.');
        scopes[depth] := element.o_scope;
      END IF;
    ELSIF token = '<' OR depth = 0 AND token !~ '^[ \t\r\n]*$' OR token LIKE '%]]>%' THEN
      RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'not well-formed';
    ELSE
      PERFORM fairlead._xml_references(token);
    END IF;
    first := false;
  END LOOP;
  IF NOT rooted OR depth > 0 THEN
    RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'no element found';
  END IF;
  RETURN NULL;
EXCEPTION
  WHEN SQLSTATE 'FLXML' THEN
    RETURN format('found no well-formed XML (%s), allowed: well-formed XML', SQLERRM);
  WHEN SQLSTATE 'FLNSP' THEN
    RETURN SQLERRM;
END $$;

-- The text of a body; bytes are read as UTF-8, and only if they do not say that they are something else.
CREATE OR REPLACE FUNCTION fairlead._xml_text(p_format bigint, p_body bytea) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  said text := (regexp_match(encode(substr(p_body, 1, 300), 'escape'),
    '^(?:\\357\\273\\277)?<\?xml[^>]*encoding[ \t\r\n]*=[ \t\r\n]*["'']([^"'']*)'))[1];
BEGIN
  IF p_format = 0 AND (lower(said) <> 'utf-8' OR position('\x00'::bytea IN p_body) > 0
      OR substr(p_body, 1, 2) IN ('\xfffe', '\xfeff')) THEN
    PERFORM fairlead._only_library('bytes that are not UTF-8');
  END IF;
  RETURN regexp_replace(convert_from(p_body, 'UTF8'), '^\ufeff', '');
EXCEPTION WHEN character_not_in_repertoire OR untranslatable_character THEN
  RETURN '';  -- which is no XML, either
END $$;

CREATE OR REPLACE FUNCTION fairlead._only_library(p_found text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  PERFORM fairlead._refuse(format('body: found XML with %s, allowed in SQL: other XML; send it with the '
    'library', p_found), 'FL009');
END $$;

CREATE OR REPLACE FUNCTION fairlead._xml_instruction(p_token text, p_first boolean) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  IF p_token ~* '^<\?xml[ \t\r\n?]' THEN
    IF NOT p_first OR p_token !~ '^<\?xml[ \t\r\n]' THEN
      RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'an XML declaration that is not at the start';
    ELSIF p_token !~ ('^<\?xml[ \t\r\n]+version[ \t\r\n]*=[ \t\r\n]*["'']1\.0["'']'
        '(?:[ \t\r\n]+encoding[ \t\r\n]*=[ \t\r\n]*(?:"[A-Za-z][A-Za-z0-9._-]*"|''[A-Za-z][A-Za-z0-9._-]*''))?'
        '(?:[ \t\r\n]+standalone[ \t\r\n]*=[ \t\r\n]*(?:"yes"|"no"|''yes''|''no''))?[ \t\r\n]*\?>$') THEN
      PERFORM fairlead._only_library('such a declaration');
    END IF;
  ELSIF p_token !~ '^<\?[A-Za-z_][A-Za-z0-9._-]*(?:[ \t\r\n]|\?>$)' THEN
    PERFORM fairlead._only_library('such a processing instruction');
  END IF;
END $$;

-- References to XML's own five entities, and to characters that XML has.
CREATE OR REPLACE FUNCTION fairlead._xml_references(p_text text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  said text[];
  code bigint;
BEGIN
  IF position('&' IN p_text) = 0 THEN
    RETURN;
  ELSIF regexp_replace(p_text, '&(?:amp|lt|gt|quot|apos|#0*[0-9]{1,7}|#x0*[0-9a-fA-F]{1,6});', '', 'g')
      ~ '&' THEN
    RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'undefined entity';
  END IF;
  FOR said IN SELECT regexp_matches(p_text, '&#(x?)0*([0-9a-fA-F]*);', 'g') LOOP
    code := CASE said[1] WHEN 'x' THEN ('x' || lpad(said[2], 16, '0'))::bit(64)::bigint
      ELSE ('0' || said[2])::bigint END;
    IF NOT (code IN (9, 10, 13) OR code BETWEEN 32 AND 55295 OR code BETWEEN 57344 AND 65533
        OR code BETWEEN 65536 AND 1114111) THEN
      RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'reference to invalid character number';
    END IF;
  END LOOP;
END $$;

-- An element that begins: its name, whether it ends at once, and the namespaces in it.
CREATE OR REPLACE FUNCTION fairlead._xml_element(
  p_token text, p_scope jsonb, OUT o_name text, OUT o_empty boolean, OUT o_scope jsonb)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  qname text := '[A-Za-z_][A-Za-z0-9._-]*(?::[A-Za-z_][A-Za-z0-9._-]*)?';
  attribute text := '[ \t\r\n]+(' || qname || ')[ \t\r\n]*=[ \t\r\n]*("[^"]*"|''[^'']*'')';
  found_ text[] := regexp_match(p_token, '^<(' || qname || ')((?:[ \t\r\n]+' || qname
    || '[ \t\r\n]*=[ \t\r\n]*(?:"[^"]*"|''[^'']*''))*)[ \t\r\n]*(/?)>$');
  said text[];
  known text[] := '{}';
BEGIN
  IF found_ IS NULL THEN
    IF regexp_replace(p_token, '"[^"]*"|''[^'']*''', '', 'g') ~ '[^\u0001-\u007f]' THEN
      PERFORM fairlead._only_library('names that are not ASCII');
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'not well-formed';
  END IF;
  o_name := found_[1];
  o_empty := found_[3] = '/';
  o_scope := p_scope;
  FOR said IN SELECT regexp_matches(found_[2], attribute, 'g') LOOP
    PERFORM fairlead._xml_references(said[2]);
    IF said[1] ~ '^xmlns(:|$)' THEN
      o_scope := o_scope || fairlead._xml_namespace(said[1], substr(said[2], 2, length(said[2]) - 2));
    ELSIF said[1] LIKE 'xmlns%' AND length(said[2]) > 502 THEN
      RAISE EXCEPTION USING ERRCODE = 'FLNSP', MESSAGE = format('found a namespace of %s characters, '
        'allowed: at most 500', length(said[2]) - 2);
    END IF;
  END LOOP;
  FOR said IN SELECT regexp_matches(found_[2], attribute, 'g') LOOP
    known := known || CASE WHEN said[1] ~ '^xmlns(:|$)' THEN said[1]
      ELSE fairlead._xml_expanded(said[1], o_scope) END;
  END LOOP;
  IF cardinality(known) > (SELECT count(DISTINCT k) FROM unnest(known) k) THEN
    RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'duplicate attribute';
  END IF;
  PERFORM fairlead._xml_expanded(o_name, o_scope);
END $$;

-- A name with what its prefix stands for.
CREATE OR REPLACE FUNCTION fairlead._xml_expanded(p_name text, p_scope jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  prefix text := split_part(p_name, ':', 1);
BEGIN
  IF p_name !~ ':' OR prefix = 'xml' THEN
    RETURN p_name;
  ELSIF prefix = 'xmlns' THEN
    PERFORM fairlead._only_library('such a name');
  ELSIF NOT p_scope ? prefix THEN
    RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'unbound prefix';
  END IF;
  RETURN (p_scope ->> prefix) || ' ' || split_part(p_name, ':', 2);
END $$;

-- A namespace that an element declares: its prefix, and what it stands for.
CREATE OR REPLACE FUNCTION fairlead._xml_namespace(p_name text, p_value text) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
  prefix text := split_part(p_name, ':', 2);
BEGIN
  IF length(p_value) > 500 THEN
    RAISE EXCEPTION USING ERRCODE = 'FLNSP', MESSAGE = format('found a namespace of %s characters, '
      'allowed: at most 500', length(p_value));
  ELSIF p_value = '' AND prefix <> '' THEN
    RAISE EXCEPTION USING ERRCODE = 'FLXML', MESSAGE = 'must not undeclare prefix';
  ELSIF p_value !~ '^[A-Za-z0-9:/.#_~?=%+@,;!$()*-]*$' OR prefix IN ('xml', 'xmlns') OR p_value IN
      ('http://www.w3.org/XML/1998/namespace', 'http://www.w3.org/2000/xmlns/') THEN
    PERFORM fairlead._only_library('such a namespace');
  END IF;
  RETURN jsonb_build_object(prefix, p_value);
END $$;
