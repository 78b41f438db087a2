"""Holds the official Python SDKs against the model server of the tests.

Reads the server's first lines from its standard output, `API: --model ROUTE --base-url URL`. Each
SDK asks twice, in a stream: the first answer thinks, says something and calls a tool, the second
follows the result of the call. What the SDK has read must be what the server was told to say, and the
server must find nothing wrong with what it was asked. Then each SDK reads the streams of a folder,
and must find in them what the parsers of this project find, which is in a file beside each.
"""

import base64
import json
import pathlib
import subprocess
import sys

import anthropic
import openai
from google import genai
from google.genai import errors, types

TEXT, THOUGHT, TOOL = "Grüße from the server.", "Let me look.", "look"
QUESTION = "What is there? Look."
RESULT = "nothing but a file"
# What each answer of the server says that it used: read, of which from a cache, and written.
PROMPT, CACHED, WRITTEN = 1000, 200, 30
SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}},
    "additionalProperties": False,
}


def same(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: {found!r} instead of {expected!r}")


def anthropic_messages(url, model):
    client = anthropic.Anthropic(base_url=url, api_key="sk-test", max_retries=0)
    tools = [{"name": TOOL, "description": "Looks.", "input_schema": SCHEMA}]
    messages = [{"role": "user", "content": f"[[anthropic]] {QUESTION}"}]

    def ask():
        streamed = ""
        with client.messages.stream(
            model=model, max_tokens=4096, system="Be brief.", messages=messages, tools=tools
        ) as stream:
            for event in stream:
                if event.type == "text":
                    streamed += event.text
            message = stream.get_final_message()
        same("anthropic text", streamed, TEXT)
        same("anthropic usage", message.usage.input_tokens, PROMPT - CACHED)
        same("anthropic cache", message.usage.cache_read_input_tokens, CACHED)
        same("anthropic output", message.usage.output_tokens, WRITTEN)
        return message

    message = ask()
    same("anthropic stop", message.stop_reason, "tool_use")
    blocks = {block.type: block for block in message.content}
    same("anthropic thinking", blocks["thinking"].thinking, THOUGHT)
    call = blocks["tool_use"]
    same("anthropic call", (call.name, call.input), (TOOL, {}))
    messages.append({"role": "assistant", "content": message.content})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": RESULT}
    messages.append({"role": "user", "content": [result]})
    same("anthropic stop", ask().stop_reason, "end_turn")


def openai_completions(url, model):
    client = openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0)
    function = {"name": TOOL, "description": "Looks.", "parameters": SCHEMA}
    tools = [{"type": "function", "function": function}]
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": f"[[completions]] {QUESTION}"},
    ]

    def ask():
        text, calls, reason, usage = "", {}, None, None
        with client.chat.completions.create(
            model=model,
            messages=messages,
            tools=tools,
            stream=True,
            stream_options={"include_usage": True},
        ) as stream:
            for chunk in stream:
                usage = chunk.usage or usage
                for choice in chunk.choices:
                    reason = choice.finish_reason or reason
                    text += choice.delta.content or ""
                    for part in choice.delta.tool_calls or []:
                        call = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
                        call["id"] += part.id or ""
                        call["name"] += part.function.name or ""
                        call["arguments"] += part.function.arguments or ""
        same("completions text", text, TEXT)
        same("completions usage", usage.prompt_tokens, PROMPT)
        same("completions cache", usage.prompt_tokens_details.cached_tokens, CACHED)
        same("completions output", usage.completion_tokens, WRITTEN)
        return list(calls.values()), reason

    calls, reason = ask()
    same("completions stop", reason, "tool_calls")
    found = [(call["name"], json.loads(call["arguments"])) for call in calls]
    same("completions call", found, [(TOOL, {})])
    call = calls[0]
    function = {"name": call["name"], "arguments": call["arguments"]}
    told = [{"id": call["id"], "type": "function", "function": function}]
    messages.append({"role": "assistant", "content": TEXT, "tool_calls": told})
    messages.append({"role": "tool", "tool_call_id": call["id"], "content": RESULT})
    same("completions end", ask(), ([], "stop"))


def openai_responses(url, model):
    client = openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0)
    tools = [
        {
            "type": "function",
            "name": TOOL,
            "description": "Looks.",
            "parameters": SCHEMA,
            "strict": False,
        }
    ]
    items = [{"role": "user", "content": f"[[responses]] {QUESTION}"}]

    def ask():
        streamed = ""
        with client.responses.stream(
            model=model,
            instructions="Be brief.",
            input=items,
            tools=tools,
            store=False,
            include=["reasoning.encrypted_content"],
        ) as stream:
            for event in stream:
                if event.type == "response.output_text.delta":
                    streamed += event.delta
            response = stream.get_final_response()
        same("responses text", (streamed, response.output_text), (TEXT, TEXT))
        same("responses status", response.status, "completed")
        same("responses usage", response.usage.input_tokens, PROMPT)
        same("responses cache", response.usage.input_tokens_details.cached_tokens, CACHED)
        same("responses output", response.usage.output_tokens, WRITTEN)
        return response

    response = ask()
    thoughts = [item for item in response.output if item.type == "reasoning"]
    same("responses thinking", thoughts[0].summary[0].text, THOUGHT)
    calls = [item for item in response.output if item.type == "function_call"]
    same("responses call", [(it.name, json.loads(it.arguments)) for it in calls], [(TOOL, {})])
    unset = {"parsed", "parsed_arguments"}
    items += [it.model_dump(exclude=unset, exclude_none=True) for it in response.output]
    for item in items:
        for part in item.get("content") or [] if item.get("type") == "message" else []:
            part.pop("parsed", None)
    items.append({"type": "function_call_output", "call_id": calls[0].call_id, "output": RESULT})
    again = ask()
    same("responses end", [it for it in again.output if it.type == "function_call"], [])


def google(url, model):
    options = types.HttpOptions(base_url=url, api_version="v1beta")
    client = genai.Client(api_key="test", http_options=options)
    function = types.FunctionDeclaration(
        name=TOOL, description="Looks.", parameters_json_schema=SCHEMA
    )
    config = types.GenerateContentConfig(
        system_instruction="Be brief.",
        tools=[types.Tool(function_declarations=[function])],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        thinking_config=types.ThinkingConfig(include_thoughts=True),
    )
    contents = [types.Content(role="user", parts=[types.Part(text=f"[[google]] {QUESTION}")])]

    def ask():
        parts, usage, reason = [], None, None
        for chunk in client.models.generate_content_stream(
            model=model, contents=contents, config=config
        ):
            usage = chunk.usage_metadata or usage
            for candidate in chunk.candidates or []:
                reason = candidate.finish_reason or reason
                found = candidate.content.parts or [] if candidate.content else []
                parts += [it for it in found if it.text != "" or it.thought_signature]
        text = "".join(part.text for part in parts if part.text and not part.thought)
        same("google text", text, TEXT)
        same("google stop", reason, types.FinishReason.STOP)
        same("google usage", usage.prompt_token_count, PROMPT)
        same("google cache", usage.cached_content_token_count, CACHED)
        written = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        same("google output", written, WRITTEN)
        return parts

    parts = ask()
    same("google thinking", "".join(it.text for it in parts if it.thought and it.text), THOUGHT)
    calls = [part.function_call for part in parts if part.function_call]
    same("google call", [(call.name, call.args or {}) for call in calls], [(TOOL, {})])
    contents.append(types.Content(role="model", parts=parts))
    answer = types.FunctionResponse(id=calls[0].id, name=TOOL, response={"output": RESULT})
    contents.append(types.Content(role="user", parts=[types.Part(function_response=answer)]))
    same("google end", [part for part in ask() if part.function_call], [])


# A picture of one point.
IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
# What becomes of a broken stream is a decision of whoever reads it.
OWN_DECISIONS = {"not_json", "lost"}


class Refused(Exception):
    """The provider withholds the answer."""


def read_messages(url, name, prompt):
    client = anthropic.Anthropic(base_url=url, api_key="sk-test", max_retries=0)
    source = {"type": "base64", "media_type": "image/png", "data": IMAGE}
    content = [{"type": "image", "source": source}, {"type": "text", "text": prompt}]
    with client.messages.stream(
        model=name,
        max_tokens=4096,
        messages=[{"role": "user", "content": content}],
        tools=[{"name": TOOL, "description": "Looks.", "input_schema": SCHEMA}],
        tool_choice={"type": "any"},
    ) as stream:
        message = stream.get_final_message()
    if message.stop_reason == "refusal":
        raise Refused
    said = {"text": "", "thinking": "", "redacted": "", "calls": []}
    for block in message.content:
        if block.type in ("text", "thinking"):
            said[block.type] += getattr(block, block.type)
        elif block.type == "redacted_thinking":
            said["redacted"] += block.data
        elif block.type == "tool_use":
            said["calls"].append((block.name, block.input))
    stops = {"end_turn": "stop", "tool_use": "toolUse", "max_tokens": "length"}
    used = message.usage
    usage = (
        used.input_tokens,
        used.cache_read_input_tokens,
        used.cache_creation_input_tokens,
        used.output_tokens,
    )
    return {**said, "stop": stops[message.stop_reason], "usage": usage}


def read_completions(url, name, prompt):
    client = openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0)
    function = {"name": TOOL, "description": "Looks.", "parameters": SCHEMA}
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{IMAGE}"}}
    said, calls, reason, usage = {"text": "", "thinking": "", "redacted": ""}, {}, None, None
    with client.chat.completions.create(
        model=name,
        messages=[
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": prompt}, image]},
        ],
        tools=[{"type": "function", "function": function}],
        tool_choice="required",
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        for chunk in stream:
            usage = chunk.usage or usage
            for choice in chunk.choices:
                reason = choice.finish_reason or reason
                said["text"] += choice.delta.content or choice.delta.refusal or ""
                said["thinking"] += getattr(choice.delta, "reasoning_content", None) or ""
                for part in choice.delta.tool_calls or []:
                    call = calls.setdefault(part.index, ["", ""])
                    call[0] += part.function.name or ""
                    call[1] += part.function.arguments or ""
    if reason == "content_filter":
        raise Refused
    said["calls"] = [(name, json.loads(arguments)) for name, arguments in calls.values()]
    stops = {"stop": "stop", "tool_calls": "toolUse", "length": "length"}
    cached = usage.prompt_tokens_details.cached_tokens
    usage = (usage.prompt_tokens - cached, cached, 0, usage.completion_tokens)
    return {**said, "stop": stops[reason], "usage": usage}


def read_responses(url, name, prompt):
    client = openai.OpenAI(base_url=url, api_key="sk-test", max_retries=0)
    function = {"name": TOOL, "description": "Looks.", "parameters": SCHEMA}
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{IMAGE}", "detail": "auto"}
    content = [{"type": "input_text", "text": prompt}, image]
    response = None
    with client.responses.create(
        model=name,
        input=[{"role": "user", "content": content}],
        tools=[{"type": "function", "strict": False, **function}],
        tool_choice="required",
        store=False,
        stream=True,
    ) as stream:
        for event in stream:
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                response = event.response
    if response.status == "failed":
        raise openai.OpenAIError(response.error.message)
    if response.incomplete_details and response.incomplete_details.reason == "content_filter":
        raise Refused
    said = {"text": "", "thinking": "", "redacted": "", "calls": []}
    for item in response.output:
        if item.type == "message":
            parts = (it.text if it.type == "output_text" else it.refusal for it in item.content)
            said["text"] += "".join(parts)
        elif item.type == "reasoning":
            said["thinking"] += "\n\n".join(it.text for it in item.summary)
            said["redacted"] += item.encrypted_content or ""
        elif item.type == "function_call":
            said["calls"].append((item.name, json.loads(item.arguments)))
    whole = "toolUse" if said["calls"] else "stop"
    used = response.usage
    cached = used.input_tokens_details.cached_tokens
    usage = (used.input_tokens - cached, cached, 0, used.output_tokens)
    return {**said, "stop": whole if response.status == "completed" else "length", "usage": usage}


def read_google(url, name, prompt):
    options = types.HttpOptions(base_url=url, api_version="v1beta")
    client = genai.Client(api_key="test", http_options=options)
    function = types.FunctionDeclaration(
        name=TOOL, description="Looks.", parameters_json_schema=SCHEMA
    )
    calling = types.FunctionCallingConfig(mode="ANY")
    config = types.GenerateContentConfig(
        tools=[types.Tool(function_declarations=[function])],
        tool_config=types.ToolConfig(function_calling_config=calling),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    image = types.Part.from_bytes(data=base64.b64decode(IMAGE), mime_type="image/png")
    contents = [types.Content(role="user", parts=[types.Part(text=prompt), image])]
    said = {"text": "", "thinking": "", "redacted": "", "calls": []}
    used, reason = None, None
    for chunk in client.models.generate_content_stream(
        model=name, contents=contents, config=config
    ):
        used = chunk.usage_metadata or used
        if chunk.prompt_feedback and chunk.prompt_feedback.block_reason:
            raise Refused
        for candidate in chunk.candidates or []:
            if candidate.index:
                continue
            reason = candidate.finish_reason or reason
            for part in (candidate.content and candidate.content.parts) or []:
                if part.function_call:
                    call = part.function_call
                    said["calls"].append((call.name, call.args or {}))
                elif part.text is not None:
                    said["thinking" if part.thought else "text"] += part.text
                if part.thought_signature:
                    said["redacted"] += base64.b64encode(part.thought_signature).decode()
    if reason == types.FinishReason.SAFETY:
        raise Refused
    whole = "toolUse" if said["calls"] else "stop"
    stops = {types.FinishReason.STOP: whole, types.FinishReason.MAX_TOKENS: "length"}
    cached = used.cached_content_token_count or 0
    written = (used.candidates_token_count or 0) + (used.thoughts_token_count or 0)
    usage = (used.prompt_token_count - cached, cached, 0, written)
    return {**said, "stop": stops[reason], "usage": usage}


def of_google(content):
    """Returns all signatures of an answer: Google signs texts, thoughts and calls."""
    keys = ("textSignature", "thinkingSignature", "thoughtSignature")
    return "".join(part[key] for part in content for key in keys if key in part)


def of_responses(content):
    """Returns the encrypted thinking of an answer, which is kept with its whole item."""
    items = [json.loads(it["thinkingSignature"]) for it in content if "thinkingSignature" in it]
    return "".join(item["encrypted_content"] for item in items)


def ours(api, file):
    """Returns what the parsers of this project find in a stream."""
    events = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    used = [tuple(event[1:]) for event in events if event[0] == "used"]
    kind, *end = events[-1]
    if kind == "failed":
        return end[0]
    content = end[1]

    def joined(kind, key):
        return "".join(part[key] for part in content if part["type"] == kind)

    calls = [(it["name"], it["arguments"]) for it in content if it["type"] == "toolCall"]
    redacted = joined("redactedThinking", "data")
    if api == "google-generative-ai":
        redacted = of_google(content)
    elif api == "openai-responses":
        redacted = of_responses(content)
    return {
        "text": joined("text", "text"),
        "thinking": joined("thinking", "thinking"),
        "redacted": redacted,
        "calls": calls,
        "stop": end[0],
        "usage": used[-1],
    }


READERS = {
    "anthropic-messages": read_messages,
    "openai-completions": read_completions,
    "openai-responses": read_responses,
    "google-generative-ai": read_google,
}


def streams(api, url, folder):
    """Has an SDK read each stream of its API. Returns how many it reads as this project does."""
    files = sorted((folder / api).glob("*.sse"))
    files = [file for file in files if file.stem not in OWN_DECISIONS]
    for file in files:
        try:
            found = READERS[api](url, file.stem, f"[[{api} {file.stem}]] What is there?")
        except Refused:
            found = "refused"
        except (anthropic.AnthropicError, openai.OpenAIError, errors.APIError) as error:
            found = "transient" if file.stem == "error" else error
        same(f"{api} {file.stem}", found, ours(api, file.with_suffix(".jsonl")))
    return len(files)


CLIENTS = {
    "anthropic-messages": anthropic_messages,
    "openai-completions": openai_completions,
    "openai-responses": openai_responses,
    "google-generative-ai": google,
}


def main(server, folder):
    words = [server, "--text", TEXT, "--think", THOUGHT, "--call", TOOL, "--streams", str(folder)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        try:
            for _api in CLIENTS:
                api, _, words = process.stdout.readline().partition(": ")
                _, route, _, url = words.split()
                CLIENTS[api](url, route.partition("/")[2])
                print(f"{api}: its SDK reads what the server says, and is accepted")
                read = streams(api, url, folder)
                print(f"{api}: its SDK reads {read} streams of the documentation as we do")
        finally:
            process.stdin.close()
            print(process.stdout.read().strip())
            code = process.wait()
        if code != 0:
            raise SystemExit("the server found faults in what the SDKs have asked")


main(sys.argv[1], pathlib.Path(sys.argv[2]))
